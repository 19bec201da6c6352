from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Iterable, Iterator

Observation = tuple[float, bool]


def steps(observations: Iterable[Observation]) -> Iterator[tuple[float, Fraction]]:
    observations = list(observations)
    left = Counter(time for time, _ in observations)
    deaths = Counter(time for time, died in observations if died)
    at_risk = len(observations)
    survival = Fraction(1)
    for time in sorted(left):
        if deaths[time]:
            survival *= Fraction(at_risk - deaths[time], at_risk)
            yield time, survival
        at_risk -= left[time]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--patients", type=Path, required=True)
    parser.add_argument("--days", type=int, required=True)
    options = parser.parse_args(argv)

    groups: dict[str, list[Observation]] = {"1": [], "2": []}
    everybody: list[Observation] = []
    poor = 0
    with options.patients.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if not row["time"] or not row["status"]:
                continue
            observation = (float(row["time"]), float(row["status"]) == 1)
            everybody.append(observation)
            groups.setdefault(row["sex"].removesuffix(".0"), []).append(observation)
            if row["ph.ecog"] and float(row["ph.ecog"]) >= 2:
                poor += observation[1]

    half = Fraction(1, 2)
    medians = {
        name: next((time for time, survival in steps(groups[sex]) if survival <= half), None)
        for name, sex in (("male", "1"), ("female", "2"))
    }
    at_days = min((survival for time, survival in steps(everybody) if time <= options.days), default=Fraction(1))
    out = Path("/var/outputs")
    (out / "median_days").write_text(json.dumps(medians))
    (out / "survival_at").write_text(str(float(at_days)))
    (out / "poor_score_deaths").write_text(str(poor))


if __name__ == "__main__":
    main()
