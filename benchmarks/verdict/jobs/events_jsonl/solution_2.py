from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any


class User:
    """What is known of one user so far."""

    def __init__(self) -> None:
        self.count = 0
        self.pages: set[str] = set()
        self.first = math.inf
        self.last = -math.inf
        self.spent = 0.0
        self.first_click = math.inf
        self.last_buy = -math.inf

    def add(self, event: dict[str, Any]) -> None:
        at = event["at"]
        self.count += 1
        self.pages.add(event["page"])
        self.first = min(self.first, at)
        self.last = max(self.last, at)
        if event["type"] == "click":
            self.first_click = min(self.first_click, at)
        elif event["type"] == "buy":
            self.last_buy = max(self.last_buy, at)
            self.spent += event["amount"]

    def to_json(self) -> dict[str, Any]:
        return {
            "events": self.count,
            "pages": sorted(self.pages),
            "minutes": (self.last - self.first) / 60.0,
            "spent": self.spent,
            "converted": self.last_buy > self.first_click,
        }


def parse(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) and value.get("user") is not None else None


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=Path, required=True)
    path = parser.parse_args(argv).events
    users: dict[str, User] = {}
    skipped = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() == "":
            continue
        event = parse(line)
        if event is None:
            skipped += 1
        else:
            users.setdefault(event["user"], User()).add(event)
    most = max((user.count for user in users.values()), default=0)
    top = sorted(name for name, user in users.items() if user.count == most)
    out = Path("/var/outputs")
    (out / "users").write_text(json.dumps({name: users[name].to_json() for name in sorted(users)}))
    (out / "skipped").write_text(str(skipped))
    (out / "busiest").write_text(top[0] if top else "")


if __name__ == "__main__":
    main()
