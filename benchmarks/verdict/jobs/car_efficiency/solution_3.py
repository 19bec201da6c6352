from __future__ import annotations

import argparse
import json
from collections import defaultdict
from datetime import date
from pathlib import Path
from typing import Any


def middle(values: list[float]) -> float:
    values = sorted(values)
    half, is_odd = divmod(len(values), 2)
    return values[half] if is_odd else (values[half - 1] + values[half]) / 2


def thriftiest_name(cars: list[dict[str, Any]], year_from: int) -> str:
    recent = [car for car in cars if date.fromisoformat(car["Year"]).year >= year_from]
    recent.sort(key=lambda car: car["Name"])
    recent.sort(key=lambda car: (car["Miles_per_Gallon"], date.fromisoformat(car["Year"]).year), reverse=True)
    return recent[0]["Name"] if recent else "none"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cars", type=Path, required=True)
    parser.add_argument("--year_from", type=int, required=True)
    options = parser.parse_args(argv)

    usable, unusable = [], 0
    for car in json.loads(options.cars.read_bytes()):
        if car.get("Miles_per_Gallon") is None or car.get("Horsepower") is None:
            unusable += 1
        else:
            usable.append(car)

    litres, kilowatts = defaultdict(list), defaultdict(list)
    for car in usable:
        origin = car["Origin"]
        litres[origin].append(235.214583 / car["Miles_per_Gallon"])
        kilowatts[origin].append(car["Horsepower"] * 0.7457 / car["Weight_in_lbs"] / 0.00045359237)

    out = Path("/var/outputs")
    lines = [
        json.dumps(
            {
                "origin": origin,
                "cars": len(values),
                "median_l_per_100km": middle(values),
                "mean_kw_per_tonne": sum(kilowatts[origin]) / len(values),
            },
            ensure_ascii=False,
        )
        for origin, values in sorted(litres.items())
    ]
    (out / "by_origin").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    (out / "unusable").write_text(f"{unusable}")
    (out / "thriftiest").write_text(thriftiest_name(usable, options.year_from), encoding="utf-8")


if __name__ == "__main__":
    main()
