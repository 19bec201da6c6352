import argparse
import csv
import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean

OUTPUTS = Path("/var/outputs")


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return sorted(csv.DictReader(file), key=lambda row: row["date"])


def figures(rows):
    """(date, kind, figure) in order of time."""
    for row in rows:
        for kind, cell in row.items():
            if kind != "date" and cell.strip():
                yield row["date"], kind, float(cell)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--meat", required=True)
    parser.add_argument("--window", type=int, required=True)
    args = parser.parse_args(argv)
    rows = read(args.meat)
    by_year, by_kind = defaultdict(list), defaultdict(list)
    for day, kind, figure in figures(rows):
        by_year[int(day[:4]), kind].append(figure)
        by_kind[kind].append(figure)
    table = [(year, kind, len(own), sum(own) * 0.45359237) for (year, kind), own in by_year.items()]
    table.sort(key=lambda line: (line[0], -line[3], line[1]))
    with open(OUTPUTS / "yearly", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["year", "kind", "months", "kilotonnes"])
        writer.writerows(table)
    means = {kind: fmean(own[-args.window :]) for kind, own in by_kind.items() if len(own) >= args.window}
    (OUTPUTS / "trend").write_text(json.dumps(means))
    overtaken = ""
    for row in rows:
        if row["broilers"] and row["beef"] and float(row["broilers"]) > float(row["beef"]):
            overtaken = row["date"][:7]
            break
    (OUTPUTS / "overtaken").write_text(overtaken)


if __name__ == "__main__":
    main()
