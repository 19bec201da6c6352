"""Other months: a year or two, few figures, many of them missing."""

from __future__ import annotations

from random import Random

KINDS = ["beef", "veal", "pork", "lamb_and_mutton", "broilers", "other_chicken", "turkey"]


def inputs(random: Random) -> dict[str, str | int]:
    """Between 1 and 20 months of three to seven kinds, beef and broilers among them."""
    kinds = ["beef", "broilers", *random.sample([kind for kind in KINDS if kind[0] != "b"], random.randint(1, 5))]
    figures = random.choice([["", "100", "200"], ["100.5", "200.5", "200.5", "400"], ["", "", "100", "250.25"]])
    months = random.sample([f"{1989 + number // 12}-{number % 12 + 1:02}" for number in range(24)], 20)
    rows = [
        ",".join([f"{month}-01", *(random.choice(figures) for _ in kinds)])
        for month in months[: random.choice([1, 4, 8, 20])]
    ]
    return {"meat": "\n".join([",".join(["date", *kinds]), *rows]) + "\n", "window": random.choice([1, 2, 3, 6])}
