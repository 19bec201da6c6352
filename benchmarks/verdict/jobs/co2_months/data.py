"""Other readings: a few months around the turn of a year, rows in no order, weeks without a measurement."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random


def inputs(random: Random) -> dict[str, str | int]:
    """Between 1 and 30 weeks of few values, of which at least one is measured."""
    start = date(random.choice([1958, 1999, 2003]), random.choice([1, 10, 11]), random.randint(1, 28))
    missing = random.choice([0.0, 0.2, 0.6])
    rows = []
    for week in range(random.choice([1, 3, 12, 30])):
        value = "" if week and random.random() < missing else random.choice(["310", "315.5", "320.1", "320.1"])
        rows.append(f"{start + timedelta(days=7 * week):%Y%m%d},{value}")
    if random.random() < 0.5:
        random.shuffle(rows)
    return {"readings": "\n".join(["date,co2", *rows]) + "\n", "min_weeks": random.choice([1, 1, 2, 4])}
