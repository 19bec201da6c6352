import argparse
import csv
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean

OUTPUTS = Path("/var/outputs")


def read(path):
    readings = []
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["co2"].strip():
                readings.append((datetime.strptime(row["date"], "%Y%m%d"), float(row["co2"])))
    if not readings:
        raise ValueError(f"{path}: no measured reading")
    return sorted(readings)


def monthly(readings, min_weeks):
    months, years = defaultdict(list), defaultdict(list)
    for day, value in readings:
        months[day.year, day.month].append(value)
        years[day.year].append(value)
    for (year, month), values in sorted(months.items()):
        if len(values) >= min_weeks:
            mean = fmean(values)
            yield f"{year}-{month:02d}", len(values), mean, mean - fmean(years[year])


def longest_gap(readings):
    days = [day for day, _ in readings]
    return max((after - before for before, after in zip(days, days[1:])), default=timedelta())


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--readings", required=True)
    parser.add_argument("--min_weeks", type=int, required=True)
    args = parser.parse_args(argv)
    readings = read(args.readings)
    with open(OUTPUTS / "monthly", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["month", "weeks", "mean_ppm", "above_year"])
        writer.writerows(monthly(readings, args.min_weeks))
    highest = max(value for _, value in readings)
    peak = min(day for day, value in readings if value == highest)
    (OUTPUTS / "peak").write_text(peak.strftime("%Y-%m-%dT%H:%M:%SZ"))
    (OUTPUTS / "longest_gap").write_text(f"{int(longest_gap(readings).total_seconds())}s")


if __name__ == "__main__":
    main()
