"""A log of sensors, in no order, with values missing."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

START = datetime(2024, 5, 1)


def _log(random: Random, sensors: list[str], lines: int, minutes: int) -> str:
    rows = []
    for _ in range(lines):
        time = START + timedelta(minutes=random.randrange(minutes))
        value = "" if random.random() < 0.1 else str(random.choice([18.5, 19, 20, 21.4, 22, 23.1]) + random.randrange(4))
        rows.append(f"{random.choice(sensors)},{time.isoformat()},{value}")
    if not any(row.rpartition(",")[2] for row in rows):
        rows.append(f"{sensors[0]},{START.isoformat()},20.5")
    return "\n".join(["sensor,time,celsius", *dict.fromkeys(rows)]) + "\n"


def sample() -> dict[str, str]:
    """1,200 lines of five sensors in three days."""
    return {"readings": _log(Random(3), ["attic", "cellar", "garden", "kitchen", "roof"], 1200, 3 * 24 * 60)}


def inputs(random: Random) -> dict[str, str | int]:
    """Few lines of a few hours, some on the full hour."""
    sensors = random.sample(["attic", "barn", "cellar", "door"], random.randint(1, 4))
    text = _log(random, sensors, random.choice([1, 4, 12, 40]), random.choice([61, 200, 4000]))
    return {"readings": text, "min_readings": random.randint(1, 3)}
