"""Other diamonds, of few prices, so that ties occur at the border."""

from __future__ import annotations

from random import Random


def inputs(random: Random) -> dict[str, str | int]:
    """Between 1 and 60 diamonds, a cut that may not occur, and a number to list."""
    lines = ['"","carat","cut","color","clarity","depth","table","price","x","y","z"']
    for number in range(random.choice([1, 5, 20, 60])):
        cut = random.choice(["Ideal", "Very Good", "Good"])
        color = random.choice("DEJ")
        clarity = random.choice(["SI1", "SI2", "VS1", "IF"])
        carat = random.choice([0.3, 0.5, 0.7, 1.01, 1.5])
        price = random.choice([500, 750, 900, 1200, 9800])
        lines.append(f'"{number + 1}",{carat},"{cut}","{color}","{clarity}",61.5,55,{price},3.9,4.0,2.4')
    cut = random.choice(["Ideal", "Good", "Good", "Very Good", "Fair"])
    return {"stones": "\n".join(lines) + "\n", "cut": cut, "top": random.randint(1, 6)}
