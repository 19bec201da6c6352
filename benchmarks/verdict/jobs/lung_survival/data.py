"""Other patients: few times, so that deaths and censored observations meet, and missing scores."""

from __future__ import annotations

from random import Random


def inputs(random: Random) -> dict[str, str | int]:
    """Between 1 and 30 patients; `days` is often a time at which somebody died."""
    sexes = random.choice([["1"], ["1", "2"], ["1", "2"], ["1", "2"]])
    times = random.choice([["100", "200"], ["100", "200", "300", "400"], ["5", "100", "200", "365", "1010", ""]])
    lines = ["inst,time,status,age,sex,ph.ecog,ph.karno,pat.karno,meal.cal,wt.loss"]
    for _ in range(random.choice([1, 4, 8, 30])):
        status = random.choice(["0", "1", "1", "1" if "" not in times else ""])
        score = random.choice(["", "0.0", "1.0", "2.0", "3.0"])
        age = random.randint(40, 80)
        lines.append(f"3.0,{random.choice(times)},{status},{age},{random.choice(sexes)},{score},90.0,100.0,1175.0,")
    return {"patients": "\n".join(lines) + "\n", "days": random.choice([50, 100, 200, 250, 365])}
