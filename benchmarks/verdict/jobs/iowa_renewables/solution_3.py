from __future__ import annotations

import argparse
import csv
from collections import Counter
from datetime import date
from pathlib import Path


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--generation", type=Path, required=True)
    parser.add_argument("--threshold", type=float, required=True)
    options = parser.parse_args(argv)

    totals: Counter[int] = Counter()
    renewables: Counter[int] = Counter()
    with options.generation.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            year = date.fromisoformat(row["year"]).year
            amount = float(row["net_generation"] or 0)
            totals[year] += amount
            if row["source"] == "Renewables":
                renewables[year] += amount

    share = {year: renewables[year] / total for year, total in sorted(totals.items()) if total}
    out = Path("/var/outputs")
    with (out / "shares").open("w", encoding="utf-8") as file:
        print("year", "total_twh", "renewable_share", "change", sep=",", file=file)
        for year, value in share.items():
            change = value - share[year - 1] if year - 1 in share else ""
            print(year, totals[year] / 1000, value, change, sep=",", file=file)
    reached = (year for year, value in share.items() if value >= options.threshold)
    (out / "first_year").write_text(str(next(reached, 0)))


if __name__ == "__main__":
    main()
