"""Other air: months with few days, most values missing in some."""

from __future__ import annotations

from random import Random


def inputs(random: Random) -> dict[str, str]:
    """At least three days with different values."""
    rows = [(7, 1, 20, 70), (7, 2, 40, 75), (7, 3, 33, 91)]
    for number in range(random.choice([0, 3, 12, 40])):
        ozone = random.choice(["NA", "NA", 10, 20, 35, 50, 80, 120, 168])
        rows.append((random.choice([5, 6, 7, 8, 12]), number % 28 + 4, ozone, random.randint(56, 97)))
    random.shuffle(rows)
    lines = ['"","Ozone","Solar.R","Wind","Temp","Month","Day"']
    for number, (month, day, ozone, temp) in enumerate(rows, start=1):
        solar = random.choice(["NA", 120, 190, 250])
        lines.append(f'"{number}",{ozone},{solar},{random.choice([4.6, 8, 11.5])},{temp},{month},{day}')
    return {"air": "\n".join(lines) + "\n"}
