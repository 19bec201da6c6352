"""Other airports: few states, so that ranks are shared; all within a few hundred kilometres."""

from __future__ import annotations

from random import Random


def inputs(random: Random) -> dict[str, str | int | float]:
    """Between 1 and 60 airports."""
    lines = ["iata,name,city,state,country,latitude,longitude"]
    for number in range(random.choice([1, 6, 12, 60])):
        state = random.choice(["TX", "OK", "KS", "NM", "AR", "LA", "NA", ""])
        latitude, longitude = round(random.uniform(30, 40), 5), round(random.uniform(-105, -92), 5)
        lines.append(f'A{number:02},"Field, {number}",Town {number},{state},USA,{latitude},{longitude}')
    radius = random.choice([100.0, 400.0, 900.0])
    return {"airports": "\n".join(lines) + "\n", "top": random.randint(1, 5), "lat": 35.0, "lon": -98.5, "radius_km": radius}
