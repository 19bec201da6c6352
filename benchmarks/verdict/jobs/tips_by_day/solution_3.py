import argparse
import csv
from itertools import groupby
from pathlib import Path
from statistics import fmean


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--bills", type=Path, required=True)
    parser.add_argument("--min_size", type=int, required=True)
    args = parser.parse_args(argv)

    with args.bills.open(newline="") as f:
        rows = [r for r in csv.DictReader(f) if r["tip"] != "" and int(r["size"]) >= args.min_size]
    for r in rows:
        r["tip"] = float(r["tip"])
        r["total_bill"] = float(r["total_bill"])

    spent = sum(r["total_bill"] for r in rows)
    rate = sum(r["tip"] for r in rows) / spent if rows else 0.0

    rows.sort(key=lambda r: r["day"])
    table = []
    for day, group in groupby(rows, key=lambda r: r["day"]):
        tips = [r["tip"] for r in group]
        table.append((day, len(tips), fmean(tips)))
    table.sort(key=lambda t: (-t[2], t[0]))

    out = Path("/var/outputs")
    out.joinpath("tip_rate").write_text(str(round(rate, 4)))
    lines = ["day,bills,mean_tip"] + [f"{d},{n},{m:.2f}" for d, n, m in table]
    out.joinpath("by_day").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
