import argparse
import csv
from pathlib import Path

OUTPUTS = Path("/var/outputs")
GWH_PER_TWH = 1000


def read(path):
    """Generation by year and source, in thousand MWh."""
    years = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            year = int(row["year"][:4])
            amount = float(row["net_generation"]) if row["net_generation"].strip() else 0.0
            sources = years.setdefault(year, {})
            sources[row["source"]] = sources.get(row["source"], 0.0) + amount
    return years


def shares(years):
    result = []
    previous = {}
    for year in sorted(years):
        total = sum(years[year].values())
        if total == 0:
            continue
        share = years[year].get("Renewables", 0.0) / total
        before = previous.get(year - 1)
        change = share - before if before is not None else ""
        previous[year] = share
        result.append((year, total / GWH_PER_TWH, share, change))
    return result


def first_year(rows, threshold):
    for year, _, share, _ in rows:
        if share >= threshold:
            return year
    return 0


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--generation", required=True)
    parser.add_argument("--threshold", type=float, required=True)
    args = parser.parse_args(argv)
    rows = shares(read(args.generation))
    with open(OUTPUTS / "shares", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["year", "total_twh", "renewable_share", "change"])
        writer.writerows(rows)
    (OUTPUTS / "first_year").write_text(str(first_year(rows, args.threshold)))


if __name__ == "__main__":
    main()
