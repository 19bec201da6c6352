"""The books of a small firm: invoices that are void, overpaid, paid in parts or later, payments of no invoice."""

from __future__ import annotations

import json
from datetime import date, timedelta
from random import Random

CUSTOMERS = ["Aker", "Borg & Co", "Cato", "Dahl", "Eng", "Foss", "Grieg", "Holm"]


def sample() -> dict[str, str]:
    """120 invoices of eight customers."""
    return _books(Random(25), 120, date(2024, 6, 30), CUSTOMERS)


def inputs(random: Random) -> dict[str, str | int]:
    """Between 0 and 30 invoices of up to five customers."""
    as_of = date(2024, 3, 1) + timedelta(days=random.randint(0, 120))
    books = _books(random, random.choice([0, 5, 8, 30]), as_of, CUSTOMERS[: random.randint(2, 5)])
    return {**books, "as_of": as_of.isoformat()}


def _books(random: Random, count: int, as_of: date, customers: list[str]) -> dict[str, str]:
    invoices = []
    payments = ["invoice_id,paid_on,amount_cents"]
    amounts = random.choice([[1005, 19999, 50000], [50000]])
    part = random.choice([300, 50000])
    for number in range(count):
        due = as_of - timedelta(days=random.choice([-14, 0, 1, 12, 30, 31, 60, 61, 75, 90, 91, 200]))
        issued = due - timedelta(days=random.choice([7, 14, 30]))
        amount = random.choice(amounts)
        status = random.choices(["open", "void"], [8, 1])[0]
        invoices.append(
            {
                "id": f"R{number:04}",
                "customer": random.choice(customers),
                "issued": issued.isoformat(),
                "due": due.isoformat(),
                "amount_cents": amount,
                "status": status,
            }
        )
        for _ in range(random.choice([0, 0, 1, 1, 2, 3])):
            paid_on = as_of + timedelta(days=random.choice([-20, -5, 0, 1, 9]))
            paid = random.choice([amount, amount // 2, part])
            reference = random.choices([f"R{number:04}", f"X{number:04}"], [9, 1])[0]
            payments.append(f"{reference},{paid_on},{paid}")
    random.shuffle(invoices)
    return {"invoices": json.dumps(invoices, indent=1), "payments": "\n".join(payments) + "\n"}
