"""Other years: gaps between them, sources that are missing, shares that meet the threshold exactly."""

from __future__ import annotations

from random import Random


def inputs(random: Random) -> dict[str, str | float]:
    """Rows of one to eight years; the threshold is a share that occurs."""
    rows = []
    for year in random.sample(range(1998, 2010), random.randint(1, 8)):
        sources = [source for source in ("Fossil Fuels", "Nuclear Energy", "Renewables") if random.random() < 0.8]
        for source in sources or ["Renewables"]:
            amount = random.choice(["", "0", "1000", "2000", "2000", "3000", "4500"])
            rows += [f"{year}-01-01,{source},{amount}"] * random.choice([1, 1, 1, 2])
    random.shuffle(rows)
    return {
        "generation": "\n".join(["year,source,net_generation", *rows]) + "\n",
        "threshold": random.choice([0.25, 0.4, 0.5, 0.5, 1.0]),
    }
