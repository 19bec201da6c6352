from __future__ import annotations

import argparse
import csv
import heapq
import json
import statistics
from dataclasses import dataclass
from pathlib import Path


def to_float(text: str) -> float | None:
    return None if text.strip() in {"", "NA"} else float(text)


@dataclass(frozen=True)
class Mammal:
    name: str
    diet: str
    sleep: float
    rem: float | None
    brain: float | None
    body: float | None

    @classmethod
    def from_row(cls, row: dict[str, str]) -> Mammal:
        diet = row["vore"] if row["vore"].strip() not in {"", "NA"} else "unknown"
        rem, brain, body = (to_float(row[column]) for column in ("sleep_rem", "brainwt", "bodywt"))
        return cls(row["name"], diet, float(row["sleep_total"]), rem, brain, body)


def describe(diet: str, mammals: list[Mammal]) -> dict[str, object]:
    with_rem = [mammal for mammal in mammals if mammal.rem is not None]
    percent = None
    if with_rem:
        percent = sum(m.rem for m in with_rem) / sum(m.sleep for m in with_rem) * 100
    sleep = statistics.median([mammal.sleep for mammal in mammals])
    return {"diet": diet, "mammals": len(mammals), "median_sleep_h": sleep, "rem_percent": percent}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mammals", type=Path, required=True)
    parser.add_argument("--k", type=int, required=True)
    options = parser.parse_args(argv)
    with options.mammals.open(newline="", encoding="utf-8") as file:
        mammals = [Mammal.from_row(row) for row in csv.DictReader(file)]

    table = [describe(diet, [m for m in mammals if m.diet == diet]) for diet in sorted({m.diet for m in mammals})]
    table.sort(key=lambda entry: entry["median_sleep_h"], reverse=True)
    weighed = [m for m in mammals if m.brain is not None and m.body is not None]
    top = heapq.nsmallest(options.k, weighed, key=lambda m: (-m.brain / m.body, m.name))
    herbivores = [m.sleep for m in mammals if m.diet == "herbi"]
    carnivores = [m.sleep for m in mammals if m.diet == "carni"]
    sleeps_by_day = bool(carnivores) and any(all(h > c for c in carnivores) for h in herbivores)

    out = Path("/var/outputs")
    (out / "diets").write_text(json.dumps(table), encoding="utf-8")
    (out / "brainiest").write_text("; ".join(m.name for m in top), encoding="utf-8")
    (out / "day_sleeper").write_text("true" if sleeps_by_day else "false", encoding="utf-8")


if __name__ == "__main__":
    main()
