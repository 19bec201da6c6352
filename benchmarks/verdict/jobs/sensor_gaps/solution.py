import argparse
import csv
from collections import defaultdict
from datetime import datetime
from pathlib import Path

OUTPUTS = Path("/var/outputs")


def read_log(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = [
            (row["sensor"], datetime.fromisoformat(row["time"]), float(row["celsius"]) if row["celsius"].strip() else None)
            for row in csv.DictReader(file)
        ]
    return sorted(rows, key=lambda row: (row[0], row[1]))


def to_fahrenheit(celsius):
    return celsius * 9 / 5 + 32


def hourly(rows, min_readings):
    hours = defaultdict(list)
    for sensor, time, value in rows:
        if value is not None:
            hours[sensor, time.replace(minute=0, second=0)].append(value)
    return [
        (sensor, hour.isoformat(), len(values), to_fahrenheit(sum(values) / len(values)))
        for (sensor, hour), values in sorted(hours.items())
        if len(values) >= min_readings
    ]


def longest_gap(rows):
    longest = 0
    for before, after in zip(rows, rows[1:]):
        if before[0] == after[0]:
            longest = max(longest, int((after[1] - before[1]).total_seconds() // 60))
    return longest


def warmest(rows):
    values = [(-value, sensor) for sensor, _, value in rows if value is not None]
    return min(values)[1] if values else ""


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--readings", required=True)
    parser.add_argument("--min_readings", type=int, required=True)
    args = parser.parse_args(argv)
    rows = read_log(args.readings)
    OUTPUTS.mkdir(parents=True, exist_ok=True)
    with open(OUTPUTS / "hourly", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["sensor", "hour", "readings", "fahrenheit"])
        writer.writerows(hourly(rows, args.min_readings))
    (OUTPUTS / "longest_gap").write_text(str(longest_gap(rows)))
    (OUTPUTS / "warmest").write_text(warmest(rows))


if __name__ == "__main__":
    main()
