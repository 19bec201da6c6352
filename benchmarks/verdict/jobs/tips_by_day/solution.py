import argparse
import csv
from collections import defaultdict
from pathlib import Path

OUTPUTS = Path("/var/outputs")


def read_bills(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def select(rows, min_size):
    chosen = []
    for row in rows:
        if not row["tip"].strip():
            continue
        if int(row["size"]) >= min_size:
            chosen.append((row["day"], float(row["total_bill"]), float(row["tip"])))
    return chosen


def tip_rate(bills):
    total = sum(bill for _, bill, _ in bills)
    tips = sum(tip for _, _, tip in bills)
    return round(tips / total, 4) if total else 0.0


def by_day(bills):
    tips = defaultdict(list)
    for day, _, tip in bills:
        tips[day].append(tip)
    means = [(day, len(values), sum(values) / len(values)) for day, values in tips.items()]
    return sorted(means, key=lambda item: (-item[2], item[0]))


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--bills", required=True)
    parser.add_argument("--min_size", type=int, required=True)
    arguments = parser.parse_args(argv)
    bills = select(read_bills(arguments.bills), arguments.min_size)
    OUTPUTS.mkdir(parents=True, exist_ok=True)
    (OUTPUTS / "tip_rate").write_text(str(tip_rate(bills)))
    with open(OUTPUTS / "by_day", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["day", "bills", "mean_tip"])
        for day, count, mean in by_day(bills):
            writer.writerow([day, count, f"{mean:.2f}"])


if __name__ == "__main__":
    main()
