"""Other weather: single days missing, dry days in runs, months alike."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random


def inputs(random: Random) -> dict[str, str | int]:
    """Between 1 and 120 days around a new year, and a year that may be one without days."""
    start = date(2013, 11, random.randint(1, 28))
    days = [start + timedelta(days=number) for number in range(random.choice([1, 30, 80, 120]))]
    lines = ["date,precipitation,temp_max,temp_min,wind,weather"]
    for day in days:
        if random.random() < 0.07:
            continue
        rain = random.choice([0.0, 0.0, 0.0, 0.0, 0.3, 2.5, 10.9])
        kind = random.choice(["rain", "drizzle", "snow"]) if rain else random.choice(["sun", "fog", "drizzle", "sun"])
        # The same every day of some draws, so that months share the highest mean.
        warm = 10.0 if len(days) == 80 else random.randint(0, 90) / 5
        lines.append(f"{day:%Y/%m/%d},{rain},{warm},{warm - 6},{random.choice([1.0, 2.5, 4.7, 9.5])},{kind}")
    return {"weather": "\n".join(lines) + "\n", "year": random.choice([2013, 2013, 2014, 2014, 2012])}
