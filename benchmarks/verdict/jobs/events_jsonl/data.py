"""Events of a web site, some lines of them broken."""

from __future__ import annotations

import json
from random import Random

USERS = ["ada", "ben", "cho", "dia", "eli", "fay", "gus", "hal", "ida", "jon", "kim", "lou"]
PAGES = ["/", "/cart", "/tea", "/mugs", "/about", "/help"]


def _events(random: Random, users: list[str], count: int, broken: float = 0.0) -> str:
    lines = []
    for _ in range(count):
        event = {
            "user": random.choice([*users, *users, *users, None]),
            "type": random.choice(["view", "view", "view", "click", "click", "buy"]),
            "page": random.choice(PAGES),
            "at": 1714550400 + 30 * random.randrange(400),
        }
        if event["user"] is None and random.random() < 0.5:
            del event["user"]
        if event["type"] == "buy":
            event["amount"] = random.choice([4.5, 8.99, 12, 20.25])
        lines.append(json.dumps(event))
        if random.random() < broken:
            lines.append(random.choice(["", lines[-1][:-7], "42", "null", "[]"]))
    return "\n".join(lines) + "\n"


def sample() -> dict[str, str]:
    """About 700 events of twelve users, in no order."""
    return {"events": _events(Random(5), USERS, 700)}


def inputs(random: Random) -> dict[str, str]:
    """Few events of few users."""
    return {"events": _events(random, random.sample(USERS, random.randint(1, 4)), random.choice([0, 1, 6, 40]), 0.05)}
