from __future__ import annotations

import argparse
import csv
import json
import re
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Iterable, Iterator

IGNORED_USER = re.compile(r"\s*(bot-.*)?", re.IGNORECASE)
CHECKOUT = re.compile(r"/checkout(/.*)?")


@dataclass
class Session:
    user: str
    start: str
    end: str
    requests: int = 0
    kib: float = 0.0
    bought: bool = False

    def add(self, row: dict[str, str]) -> None:
        self.end = row["time"]
        self.requests += 1
        self.kib += float(row["bytes"] or "0") / 1024
        self.bought = self.bought or bool(CHECKOUT.fullmatch(row["path"]))

    def seconds(self) -> int:
        return seconds_between(self.start, self.end)


def seconds_between(earlier: str, later: str) -> int:
    return int((datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds())


def sessions(rows: Iterable[dict[str, str]], idle_seconds: int) -> Iterator[Session]:
    current: Session | None = None
    for row in sorted(rows, key=lambda row: (row["user"], row["time"])):
        if (
            current is None
            or current.user != row["user"]
            or seconds_between(current.end, row["time"]) > idle_seconds
        ):
            if current:
                yield current
            current = Session(row["user"], row["time"], row["time"])
        current.add(row)
    if current:
        yield current


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--visits", type=Path, required=True)
    parser.add_argument("--idle_minutes", type=int, required=True)
    options = parser.parse_args(argv)
    with options.visits.open(newline="", encoding="utf-8") as file:
        rows = [
            row
            for row in csv.DictReader(file, delimiter=";")
            if not IGNORED_USER.fullmatch(row["user"]) and int(row["status"]) <= 399
        ]
    found = sorted(sessions(rows, options.idle_minutes * 60), key=lambda session: (session.start, session.user))
    out = Path("/var/outputs")
    (out / "sessions").write_text("".join(json.dumps(asdict(session)) + "\n" for session in found))
    (out / "longest").write_text(f"{max(map(Session.seconds, found), default=0)}s")
    (out / "conversion").write_text(str(sum(session.bought for session in found) / max(1, len(found))))


if __name__ == "__main__":
    main()
