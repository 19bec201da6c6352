"""The log of a small web shop: a few users, pauses around the limit, bots, failures."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

HEADER = "time;user;path;status;bytes"
USERS = ["ada", "grace", "linus", "edsger", "barbara"]
PATHS = ["/", "/cart", "/checkout", "/checkout/done", "/checkouts", "/products/17"]


def sample() -> dict[str, str]:
    """About 400 lines of one day."""
    return {"visits": _log(Random(24), users=24, requests=18, idle_minutes=30)}


def inputs(random: Random) -> dict[str, str | int]:
    """Between 0 and 60 lines; pauses are often as long as the limit."""
    idle_minutes = random.choice([5, 20, 30, 30])
    users, requests = random.choice([(1, 0), (1, 3), (3, 5), (5, 12)])
    return {"visits": _log(random, users, requests, idle_minutes), "idle_minutes": idle_minutes}


def _log(random: Random, users: int, requests: int, idle_minutes: int) -> str:
    lines = []
    for number in range(users):
        user = USERS[number % len(USERS)] + (str(number) if number >= len(USERS) else "")
        if number % 3 == 2:
            user = random.choice(["bot-uptime", "Bot-Crawler", "BOT-x", "", "botany"])
        time = datetime(2024, 3, 1, 8, 0, 0) + timedelta(minutes=random.choice([0, 7, 95]))
        for _ in range(requests):
            path = random.choices(PATHS, [6, 4, 1, 1, 1, 6])[0]
            status = random.choices([200, 302, 399, 400, 404, 500], [12, 2, 1, 1, 2, 1])[0]
            lines.append(
                f"{time:%Y-%m-%d %H:%M:%S};{user};{path};{status};{random.choice(['', '512', '2048', '1500'])}"
            )
            seconds = random.choice([5, 61, 600, idle_minutes * 60, idle_minutes * 60 + 1, idle_minutes * 60 - 1, 7200])
            time += timedelta(seconds=seconds)
    random.shuffle(lines)
    return "\n".join([HEADER, *lines]) + "\n"
