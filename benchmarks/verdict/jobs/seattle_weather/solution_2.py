from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from pathlib import Path


@dataclass(order=True)
class Day:
    on: date
    rain: float
    high: float
    wind: float
    kind: str


def parse(row: dict[str, str]) -> Day:
    year, month, day = map(int, row["date"].split("/"))
    return Day(
        date(year, month, day), float(row["precipitation"]), float(row["temp_max"]), float(row["wind"]), row["weather"]
    )


def dry_spell(days: list[Day]) -> int:
    # Consecutive dry days share the difference between their ordinal and their place in the list.
    dry = [day.on.toordinal() for day in days if day.rain <= 0]
    runs = groupby(enumerate(dry), key=lambda pair: pair[1] - pair[0])
    return max((len(list(run)) for _, run in runs), default=0)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--weather", type=Path, required=True)
    parser.add_argument("--year", type=int, required=True)
    args = parser.parse_args(argv)
    with args.weather.open(newline="") as file:
        days = sorted(day for day in map(parse, csv.DictReader(file)) if day.on.year == args.year)

    warmest, best = 0, None
    lines = ["month,days,max_wind_kmh,rainy_share"]
    for month, group in groupby(days, key=lambda day: day.on.month):
        members = list(group)
        mean = sum(day.high for day in members) / len(members)
        if best is None or mean > best:
            warmest, best = month, mean
        wet = [day for day in members if day.kind in {"rain", "drizzle"}]
        wind = max(day.wind for day in members) * 3600 / 1000
        lines.append(f"{month},{len(members)},{wind:.1f},{len(wet) / len(members):.3f}")

    out = Path("/var/outputs")
    (out / "rain_inches").write_text(f"{sum(day.rain for day in days) / 25.4:.2f}")
    (out / "longest_dry").write_text(str(dry_spell(days)))
    (out / "warmest_month").write_text(str(warmest))
    (out / "months").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
