import argparse
import csv
import json
from collections import defaultdict
from pathlib import Path

OUTPUTS = Path("/var/outputs")


def read_series(path, since):
    """Life expectancy by year for each (continent, country)."""
    series = defaultdict(dict)
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            year = int(row["year"])
            if year >= since:
                series[row["continent"], row["country"]][year] = float(row["lifeExp"])
    return series


def country_gains(series):
    gains = []
    for (continent, country), ages in series.items():
        if len(ages) < 2:
            continue
        gains.append((continent, country, ages[max(ages)] - ages[min(ages)]))
    return gains


def by_continent(gains):
    grouped = defaultdict(list)
    for continent, country, gain in gains:
        grouped[continent].append((country, gain))
    result = {}
    for continent, members in sorted(grouped.items()):
        best, best_gain = min(members, key=lambda member: (-member[1], member[0]))
        result[continent] = {
            "countries": len(members),
            "mean_gain": sum(gain for _, gain in members) / len(members),
            "best": best,
            "best_gain": best_gain,
        }
    return result


def count_declined(gains):
    return sum(1 for _, _, gain in gains if gain < 0)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--countries", required=True)
    parser.add_argument("--since", type=int, required=True)
    arguments = parser.parse_args(argv)
    gains = country_gains(read_series(arguments.countries, arguments.since))
    (OUTPUTS / "gains").write_text(json.dumps(by_continent(gains), ensure_ascii=False), encoding="utf-8")
    (OUTPUTS / "declined").write_text(str(count_declined(gains)))


if __name__ == "__main__":
    main()
