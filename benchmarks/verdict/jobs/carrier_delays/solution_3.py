from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

MISSING = ("", "NA")


@dataclass
class Carrier:
    name: str
    flights: int = 0
    cancelled: int = 0
    delays: list[int] = field(default_factory=list)

    def add(self, row: dict[str, str]) -> None:
        self.flights += 1
        if row["dep_time"].strip() in MISSING:
            self.cancelled += 1
        if row["arr_delay"].strip() not in MISSING:
            self.delays.append(int(float(row["arr_delay"])))

    @property
    def late_share(self) -> float | None:
        return sum(delay >= 15 for delay in self.delays) / len(self.delays) if self.delays else None

    def cells(self) -> list[object]:
        mean = fmean(self.delays) if self.delays else None
        return [self.name, self.flights, self.cancelled, mean, self.late_share]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Delays by carrier")
    for name in ("--flights", "--airlines"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--min_flights", type=int, required=True)
    options = parser.parse_args(argv)

    with options.airlines.open(newline="", encoding="utf-8") as file:
        names = dict((row["carrier"], row["name"]) for row in csv.DictReader(file))
    carriers: dict[str, Carrier] = {}
    with options.flights.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            code = row["carrier"]
            carriers.setdefault(code, Carrier(names.get(code) or code)).add(row)

    lost = sum(delay for carrier in carriers.values() for delay in carrier.delays if delay > 0)
    listed = sorted((c for c in carriers.values() if c.flights >= options.min_flights), key=lambda c: c.name)
    out = Path("/var/outputs")
    with (out / "delays").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow("name flights cancelled mean_delay late_share".split())
        writer.writerows(carrier.cells() for carrier in listed)
    (out / "hours_lost").write_text(repr(lost / 60))
    ranked = sorted((c for c in listed if c.delays), key=lambda c: c.late_share)  # stable: ties stay by name
    (out / "punctual").write_text(ranked[0].name if ranked else "")


if __name__ == "__main__":
    main()
