"""Other months: few cities, sales that make equal average prices and quarters, missing figures."""

from __future__ import annotations

from random import Random


def inputs(random: Random) -> dict[str, str | int]:
    """Up to 54 months of up to six cities in two years."""
    cities = random.sample(["Austin", "Dallas", "El Paso", "Waco", "Tyler", "Abilene"], random.randint(3, 6))
    price = random.choice([[100_000], [100_000, 150_000, 150_000]])
    spread = random.choice([1, 1, 3])
    rows = []
    for city in cities:
        own = random.choice(price)
        for _ in range(random.choice([2, 4, 9])):
            sales = random.choice(["NA", "0", "2", "4", "4"])
            volume = (
                "NA" if random.random() < 0.2 else str(own * random.randint(1, spread) * int(sales.replace("NA", "3")))
            )
            listings = random.choice(["NA", "701", "746"])
            year, month = random.choice([2009, 2010, 2010, 2010]), random.randint(1, 12)
            rows.append(f'"{city}",{year},{month},{sales},{volume},{own},{listings},NA,{year + (month - 1) / 12}')
    random.shuffle(rows)
    header = '"city","year","month","sales","volume","median","listings","inventory","date"'
    return {
        "housing": "\n".join([header, *rows]) + "\n",
        "year": random.choice([2009, 2010, 2010, 2010, 2011]),
        "n": random.choice([1, 3, 20, 20]),
    }
