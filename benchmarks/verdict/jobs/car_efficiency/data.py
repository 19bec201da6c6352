"""Other cars: few values, so that equal consumptions and missing values occur together."""

from __future__ import annotations

import json
from random import Random


def inputs(random: Random) -> dict[str, str | int]:
    """Between 2 and 40 cars of up to four origins."""
    origins = random.sample(["USA", "Europe", "Japan", "Brazil"], random.randint(1, 4))
    missing = random.choice([0.0, 0.2, 0.5])
    cars = []
    for _ in range(random.choice([2, 6, 15, 40])):
        year = random.choice(["1970-01-01", "1975-01-01", "1976-01-01", "1982-01-01"])
        cars.append(
            {
                "Name": random.choice(["fiat 128", "honda civic", "ford pinto", "audi 100 ls", "vw rabbit"]),
                "Miles_per_Gallon": None if random.random() < missing else random.choice([18, 31, 31]),
                "Cylinders": random.choice([4, 6, 8]),
                "Displacement": random.choice([97, 140.5, 307]),
                "Horsepower": None if random.random() < missing else random.choice([60, 67.5, 150]),
                "Weight_in_lbs": random.choice([1900, 2600, 4300]),
                "Acceleration": random.choice([12, 15.5]),
                "Year": year,
                "Origin": random.choice(origins),
            }
        )
    return {"cars": json.dumps(cars, indent=1), "year_from": random.choice([1970, 1975, 1976, 1983])}
