from __future__ import annotations

import argparse
import csv
import os
from dataclasses import dataclass


@dataclass
class Day:
    name: str
    bills: int = 0
    tips: float = 0.0

    @property
    def mean(self) -> float:
        return self.tips / self.bills


def summarise(path: str, min_size: int) -> tuple[float, list[Day]]:
    days: dict[str, Day] = {}
    all_tips = all_bills = 0.0
    with open(path, newline="", encoding="utf-8") as handle:
        for record in csv.DictReader(handle):
            tip = (record["tip"] or "").strip()
            if tip == "" or int(record["size"]) < min_size:
                continue
            day = days.setdefault(record["day"], Day(record["day"]))
            day.bills += 1
            day.tips += float(tip)
            all_tips += float(tip)
            all_bills += float(record["total_bill"])
    rate = all_tips / all_bills if all_bills > 0 else 0.0
    ranked = sorted(days.values(), key=lambda day: day.name)
    ranked.sort(key=lambda day: day.mean, reverse=True)
    return rate, ranked


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Tips by day")
    parser.add_argument("--bills", required=True)
    parser.add_argument("--min_size", type=int, required=True)
    options = parser.parse_args(argv)
    rate, days = summarise(options.bills, options.min_size)
    out = "/var/outputs"
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "tip_rate"), "w", encoding="utf-8") as handle:
        handle.write(f"{rate:.4f}")
    with open(os.path.join(out, "by_day"), "w", encoding="utf-8") as handle:
        handle.write("day,bills,mean_tip\n")
        for day in days:
            handle.write(f"{day.name},{day.bills},{round(day.mean, 2)}\n")


if __name__ == "__main__":
    main()
