from __future__ import annotations

import argparse
import csv
import json
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import mean
from typing import Iterator, NamedTuple


class Gain(NamedTuple):
    continent: str
    country: str
    years: float


def gains(path: Path, since: int) -> Iterator[Gain]:
    with path.open(newline="", encoding="utf-8") as handle:
        rows = [row for row in csv.DictReader(handle) if int(row["year"]) >= since]
    key = itemgetter("continent", "country")
    rows.sort(key=lambda row: (*key(row), int(row["year"])))
    for (continent, country), group in groupby(rows, key=key):
        own = list(group)
        if own[0]["year"] != own[-1]["year"]:
            yield Gain(continent, country, float(own[-1]["lifeExp"]) - float(own[0]["lifeExp"]))


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--countries", type=Path, required=True)
    parser.add_argument("--since", type=int, required=True)
    options = parser.parse_args(argv)

    all_gains = list(gains(options.countries, options.since))
    report = {}
    for continent in {gain.continent for gain in all_gains}:
        members = [gain for gain in all_gains if gain.continent == continent]
        best = max(members, key=lambda gain: gain.years)  # sorted by country: the first of equal ones wins
        report[continent] = dict(
            countries=len(members),
            mean_gain=mean(gain.years for gain in members),
            best=best.country,
            best_gain=best.years,
        )
    out = Path("/var/outputs")
    (out / "gains").write_text(json.dumps(report), encoding="utf-8")
    (out / "declined").write_text(str(len([gain for gain in all_gains if gain.years < 0])), encoding="utf-8")


if __name__ == "__main__":
    main()
