"""Other penguins: masses of few values, many of them missing, and species that nobody weighed."""

from __future__ import annotations

from random import Random

HEADER = "species,island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year"


def inputs(random: Random) -> dict[str, str | int]:
    """Between 1 and 25 penguins of up to five species."""
    species = random.sample(["Adelie", "Gentoo", "Chinstrap", "Rockhopper", "Emperor"], random.randint(2, 5))
    unweighed = random.choice([*species, "", ""])
    masses = random.choice([["NA"], ["4000"], ["3500", "4500", "NA"], ["3000", "4000", "5000", "6100"]])
    islands = random.sample(["Torgersen", "Dream", "Biscoe"], random.randint(2, 3))
    lines = [HEADER]
    for _ in range(random.choice([1, 5, 8, 25])):
        kind = random.choice(species)
        mass = "NA" if kind == unweighed else random.choice(masses)
        sex = random.choice(["male", "female", "NA"])
        lines.append(f"{kind},{random.choice(islands)},40.1,18,190,{mass},{sex},{random.randint(2007, 2009)}")
    return {"penguins": "\n".join(lines) + "\n"}
