import argparse
import csv
from collections import defaultdict
from pathlib import Path

OUTPUTS = Path("/var/outputs")
LATE_MINUTES = 15


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def is_known(value):
    return value not in ("", "NA")


def airline_names(rows):
    return {row["carrier"]: row["name"] for row in rows}


def arrival_delays(flights):
    return [float(row["arr_delay"]) for row in flights if is_known(row["arr_delay"])]


def hours_lost(flights):
    return sum(delay for delay in arrival_delays(flights) if delay > 0) / 60


def table(flights, names, min_flights):
    by_carrier = defaultdict(list)
    for row in flights:
        by_carrier[row["carrier"]].append(row)
    rows = []
    for carrier, own in by_carrier.items():
        if len(own) < min_flights:
            continue
        cancelled = sum(1 for row in own if not is_known(row["dep_time"]))
        delays = arrival_delays(own)
        mean = late = None
        if delays:
            mean = sum(delays) / len(delays)
            late = sum(1 for delay in delays if delay >= LATE_MINUTES) / len(delays)
        rows.append((names.get(carrier, carrier), len(own), cancelled, mean, late))
    return sorted(rows, key=lambda row: row[0])


def punctual(rows):
    candidates = [(row[4], row[0]) for row in rows if row[4] is not None]
    return min(candidates)[1] if candidates else ""


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--flights", required=True)
    parser.add_argument("--airlines", required=True)
    parser.add_argument("--min_flights", type=int, required=True)
    args = parser.parse_args(argv)
    flights = read(args.flights)
    rows = table(flights, airline_names(read(args.airlines)), args.min_flights)
    with open(OUTPUTS / "delays", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "flights", "cancelled", "mean_delay", "late_share"])
        for name, count, cancelled, mean, late in rows:
            writer.writerow([name, count, cancelled, "" if mean is None else mean, "" if late is None else late])
    (OUTPUTS / "hours_lost").write_text(str(hours_lost(flights)))
    (OUTPUTS / "punctual").write_text(punctual(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
