from __future__ import annotations

import argparse
import csv
import statistics
from itertools import groupby
from pathlib import Path


def correlate(xs: list[float], ys: list[float]) -> float:
    n = len(xs)
    sx, sy = sum(xs), sum(ys)
    top = n * sum(x * y for x, y in zip(xs, ys)) - sx * sy
    bottom = (n * sum(x * x for x in xs) - sx**2) * (n * sum(y * y for y in ys) - sy**2)
    return top / bottom**0.5


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--air", type=Path, required=True)
    args = parser.parse_args(argv)
    with args.air.open(newline="", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["Month"]))

    out = Path("/var/outputs")
    with (out / "monthly").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["month", "days", "measured", "mean_ozone", "sd_ozone"], restval="")
        writer.writeheader()
        for month, group in groupby(rows, key=lambda row: int(row["Month"])):
            members = list(group)
            ozone = [float(row["Ozone"]) for row in members if row["Ozone"] != "NA"]
            line = {"month": month, "days": len(members), "measured": len(ozone)}
            if ozone:
                line["mean_ozone"] = f"{statistics.fmean(ozone):.3f}"
            if len(ozone) >= 2:
                line["sd_ozone"] = f"{statistics.stdev(ozone):.3f}"
            writer.writerow(line)

    known = [row for row in rows if row["Ozone"] != "NA"]
    ozone = [float(row["Ozone"]) for row in known]
    (out / "correlation").write_text(f"{correlate(ozone, [float(row['Temp']) for row in known]):.4f}")
    limit = statistics.quantiles(ozone, n=10, method="inclusive")[-1]
    (out / "high_days").write_text(str(len([value for value in ozone if value > limit])))


if __name__ == "__main__":
    main()
