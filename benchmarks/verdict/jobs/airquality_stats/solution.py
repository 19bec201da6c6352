import argparse
import csv
import math
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev

OUTPUTS = Path("/var/outputs")


def read_days(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [
            (int(row["Month"]), None if row["Ozone"] in ("", "NA") else float(row["Ozone"]), float(row["Temp"]))
            for row in csv.DictReader(file)
        ]


def monthly(days):
    months = defaultdict(list)
    for month, ozone, _ in days:
        months[month].append(ozone)
    for month, values in sorted(months.items()):
        known = [value for value in values if value is not None]
        average = round(mean(known), 3) if known else ""
        deviation = round(stdev(known), 3) if len(known) > 1 else ""
        yield [month, len(values), len(known), average, deviation]


def correlation(days):
    pairs = [(ozone, temp) for _, ozone, temp in days if ozone is not None]
    mean_x = mean(x for x, _ in pairs)
    mean_y = mean(y for _, y in pairs)
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in pairs)
    spread = math.sqrt(sum((x - mean_x) ** 2 for x, _ in pairs) * sum((y - mean_y) ** 2 for _, y in pairs))
    return covariance / spread


def percentile(values, share):
    ordered = sorted(values)
    position = (len(ordered) - 1) * share
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def high_days(days):
    values = [ozone for _, ozone, _ in days if ozone is not None]
    limit = percentile(values, 0.9)
    return sum(value > limit for value in values)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--air", required=True)
    args = parser.parse_args(argv)
    days = read_days(args.air)
    OUTPUTS.mkdir(parents=True, exist_ok=True)
    with open(OUTPUTS / "monthly", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["month", "days", "measured", "mean_ozone", "sd_ozone"])
        writer.writerows(monthly(days))
    (OUTPUTS / "correlation").write_text(str(round(correlation(days), 4)))
    (OUTPUTS / "high_days").write_text(str(high_days(days)))


if __name__ == "__main__":
    main()
