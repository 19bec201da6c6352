"""Other countries: few years and values, years in no order, countries with a single year."""

from __future__ import annotations

from random import Random

COUNTRIES = {
    "Chad": "Africa",
    "Kenya": "Africa",
    "Angola": "Africa",
    "Mali": "Africa",
    "Togo": "Africa",
    "Peru": "Americas",
    "Iran": "Asia",
    "Japan": "Asia",
    "Korea, Rep.": "Asia",
    "Nepal": "Asia",
}


def inputs(random: Random) -> dict[str, str | int]:
    """Rows of up to nine countries, each with one to four of six years."""
    ages = random.choice([[40, 50], [40, 50], [40, 45.5, 50, 60.25]])
    rows = []
    for country in random.sample(sorted(COUNTRIES), random.choice([1, 6, 9, 9])):
        name = f'"{country}"' if "," in country else country
        for year in random.sample(range(1990, 1996), random.randint(1, 4)):
            age = random.choice(ages)
            rows.append(f"{name},{COUNTRIES[country]},{year},{age},{random.randint(1, 9) * 10**6},{year / 2}")
    if random.random() < 0.5:
        random.shuffle(rows)
    lines = ["country,continent,year,lifeExp,pop,gdpPercap", *rows]
    return {"countries": "\n".join(lines) + "\n", "since": random.choice([1980, 1980, 1991, 1993])}
