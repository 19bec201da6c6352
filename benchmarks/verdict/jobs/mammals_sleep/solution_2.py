from __future__ import annotations

import argparse
import csv
import math
import statistics
from collections import Counter
from pathlib import Path


def to_float(text: str) -> float:
    """NaN for what is unknown."""
    return math.nan if text == "NA" or not text else float(text)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mammals", type=Path, required=True)
    args = parser.parse_args(argv)
    with args.mammals.open(newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))

    total = [to_float(row["sleep_total"]) for row in rows]
    rem = [to_float(row["sleep_rem"]) for row in rows]
    ratio = [to_float(row["brainwt"]) / to_float(row["bodywt"]) for row in rows]
    vore = [row["vore"] if row["vore"] not in {"NA", ""} else "none" for row in rows]

    percent = [r / t * 100 for r, t in zip(rem, total) if not math.isnan(r)]
    share = sum(percent) / len(percent) if percent else 0.0

    sizes = Counter(vore)
    table = [("vore", "animals", "median_sleep", "with_rem")]
    for kind in sorted(sizes, key=lambda kind: (-sizes[kind], kind)):
        members = [i for i, v in enumerate(vore) if v == kind]
        known = [i for i in members if not math.isnan(rem[i])]
        table.append((kind, sizes[kind], statistics.median([total[i] for i in members]), len(known)))

    best, best_ratio = "", -1.0
    for row, value in zip(rows, ratio):
        if not math.isnan(value) and value > best_ratio:
            best, best_ratio = row["name"], value

    out = Path("/var/outputs")
    (out / "rem_share").write_text(f"{share:.2f}")
    with (out / "by_vore").open("w", newline="") as f:
        csv.writer(f).writerows(table)
    (out / "smartest").write_text(best)
    (out / "unknown_brains").write_text(str(sum(math.isnan(to_float(row["brainwt"])) for row in rows)))


if __name__ == "__main__":
    main()
