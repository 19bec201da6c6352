from __future__ import annotations

import argparse
import csv
import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Iterator


@dataclass
class Term:
    name: str
    province: str
    start: datetime
    end: datetime | None

    def covers(self, moment: datetime) -> bool:
        return self.start <= moment < (self.end or datetime.max)

    @property
    def duration(self) -> timedelta | None:
        return self.end - self.start if self.end else None


def terms(path: Path) -> Iterator[Term]:
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            reason = row["reason"].strip()
            if reason == "Appointment declined":
                continue
            start, end = (datetime.strptime(row[column].split()[0], "%Y-%m-%d") for column in ("start_date", "end_date"))
            province = re.sub(r"\s\(Division\)$", "", row["Province / Territory"])
            yield Term(row["Name"], province, start, end if reason else None)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--senators", type=Path, required=True)
    parser.add_argument("--on", required=True)
    options = parser.parse_args(argv)

    on = datetime.strptime(options.on, "%Y-%m-%d")
    count, days = defaultdict(int), defaultdict(list)
    serving, best = 0, None
    for term in sorted(terms(options.senators), key=lambda term: term.start):
        serving += term.covers(on)
        count[term.province] += 1
        if term.duration is not None:
            days[term.province].append(term.duration.days)
            if best is None or term.duration > best.duration:
                best = term

    out = Path("/var/outputs")
    with (out / "by_province").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["province", "terms", "ended", "mean_days"])
        writer.writeheader()
        for province in sorted(count, key=lambda name: (-count[name], name)):
            lengths = days[province]
            mean = sum(lengths) / len(lengths) if lengths else None
            writer.writerow({"province": province, "terms": count[province], "ended": len(lengths), "mean_days": mean})
    (out / "serving").write_text(str(serving))
    name = best.name if best else ""
    (out / "longest").write_text(re.sub(r"^(.*),\s*([^,]*)$", r"\2 \1", name), encoding="utf-8")


if __name__ == "__main__":
    main()
