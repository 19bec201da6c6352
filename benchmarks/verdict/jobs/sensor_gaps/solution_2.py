import argparse
import csv
import datetime
from itertools import groupby
from operator import itemgetter
from statistics import mean


def gap_of(times):
    times = sorted(times)
    return max(((b - a) // datetime.timedelta(minutes=1) for a, b in zip(times, times[1:])), default=0)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--readings")
    parser.add_argument("--min_readings", type=int)
    args = parser.parse_args(argv)

    with open(args.readings, newline="") as f:
        rows = list(csv.DictReader(f))
    rows.sort(key=itemgetter("sensor", "time"))

    lines = ["sensor,hour,readings,fahrenheit"]
    gap = 0
    highest, warmest = None, ""
    for sensor, group in groupby(rows, key=itemgetter("sensor")):
        group = list(group)
        gap = max(gap, gap_of([datetime.datetime.fromisoformat(row["time"]) for row in group]))
        present = [row for row in group if row["celsius"] != ""]
        for hour, members in groupby(present, key=lambda row: row["time"][:13]):
            values = [float(row["celsius"]) for row in members]
            if len(values) >= args.min_readings:
                lines.append(f"{sensor},{hour}:00:00,{len(values)},{mean(values) * 1.8 + 32}")
        for row in present:
            value = float(row["celsius"])
            if highest is None or value > highest:
                highest, warmest = value, sensor

    def write(name, text):
        with open("/var/outputs/" + name, "w") as f:
            f.write(text)

    write("hourly", "\n".join(lines) + "\n")
    write("longest_gap", str(gap))
    write("warmest", warmest)


if __name__ == "__main__":
    main()
