"""Other prices: few months, in no order, some missing."""

from __future__ import annotations

from random import Random

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def inputs(random: Random) -> dict[str, str]:
    """One to four symbols, each with a price at least."""
    rows = []
    for symbol in random.sample(["AAPL", "IBM", "ZM", "MSFT", "TSLA"], random.randint(1, 4)):
        dates = random.sample([(month, year) for year in (2003, 2004, 2006) for month in MONTHS], random.randint(2, 14))
        for number, (month, year) in enumerate(dates):
            price = "" if number > 1 and random.random() < 0.2 else random.choice([20.0, 25.5, 40.0, 50.0, 12.34])
            rows.append(f"{symbol},{month} 1 {year},{price}")
    random.shuffle(rows)
    return {"stocks": "\n".join(["symbol,date,price", *rows]) + "\n"}
