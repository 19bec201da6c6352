"""Transactions of a few accounts."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random


def _transactions(random: Random, count: int, accounts: int, days: int, amounts: list[float]) -> str:
    lines = ["id,account,booked,kind,amount"]
    for number in range(1, count + 1):
        account = f"DE{random.randint(1, accounts):02}"
        booked = date(2024, 1, 1) + timedelta(days=random.randrange(days))
        kind = random.choice(["credit", "debit"])
        lines.append(f"{number},{account},{booked},{kind},{random.choice(amounts):.2f}")
    return "\n".join(lines) + "\n"


def sample() -> dict[str, str]:
    """800 transactions of twelve accounts in a quarter."""
    random = Random(23)
    return {"transactions": _transactions(random, 800, 12, 91, [random.randint(100, 30000) / 100 for _ in range(200)])}


def inputs(random: Random) -> dict[str, str | float]:
    """Few transactions of round amounts, so that balances are just at the limit."""
    text = _transactions(random, random.choice([0, 1, 5, 15, 40]), random.randint(1, 4), 5, [50.0, 100.0, 100.0, 25.5])
    return {"transactions": text, "limit": random.choice([0.0, 50.0, 100.0])}
