import argparse
import csv
from collections import defaultdict
from datetime import date, datetime, timedelta
from pathlib import Path

OUTPUTS = Path("/var/outputs")
MM_PER_INCH = 25.4


def read_days(path, year):
    days = []
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            day = datetime.strptime(row["date"], "%Y/%m/%d").date()
            if day.year == year:
                days.append((day, float(row["precipitation"]), float(row["temp_max"]), float(row["wind"]), row["weather"]))
    return sorted(days)


def longest_dry(days):
    longest = run = 0
    previous = None
    for day, rain, *_ in days:
        if previous is not None and day - previous != timedelta(days=1):
            run = 0
        run = run + 1 if rain == 0 else 0
        longest = max(longest, run)
        previous = day
    return longest


def by_month(days):
    months = defaultdict(list)
    for entry in days:
        months[entry[0].month].append(entry)
    return dict(sorted(months.items()))


def warmest_month(months):
    means = {month: sum(entry[2] for entry in days) / len(days) for month, days in months.items()}
    return max(means, key=lambda month: (means[month], -month)) if means else 0


def month_rows(months):
    for month, days in months.items():
        wind = max(entry[3] for entry in days) * 3.6
        rainy = sum(entry[4] in ("rain", "drizzle") for entry in days)
        yield [month, len(days), f"{wind:.1f}", f"{rainy / len(days):.3f}"]


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--weather", required=True)
    parser.add_argument("--year", type=int, required=True)
    args = parser.parse_args(argv)
    days = read_days(args.weather, args.year)
    months = by_month(days)
    OUTPUTS.mkdir(parents=True, exist_ok=True)
    inches = sum(rain for _, rain, *_ in days) / MM_PER_INCH
    (OUTPUTS / "rain_inches").write_text(str(round(inches, 2)))
    (OUTPUTS / "longest_dry").write_text(str(longest_dry(days)))
    (OUTPUTS / "warmest_month").write_text(str(warmest_month(months)))
    with open(OUTPUTS / "months", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["month", "days", "max_wind_kmh", "rainy_share"])
        writer.writerows(month_rows(months))


if __name__ == "__main__":
    main()
