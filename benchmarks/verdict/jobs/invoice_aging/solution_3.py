from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path


@dataclass
class Invoice:
    customer: str
    due: str
    counts: bool
    owed: Decimal


@dataclass
class Debtor:
    name: str
    invoices: int = 0
    owed: Decimal = Decimal()
    oldest_due: str = "9999-12-31"


def days_between(earlier: str, later: str) -> int:
    return (datetime.strptime(later, "%Y-%m-%d") - datetime.strptime(earlier, "%Y-%m-%d")).days


def label(days: int) -> str:
    for limit, name in ((0, "current"), (30, "1-30"), (60, "31-60"), (90, "61-90")):
        if days <= limit:
            return name
    return "90+"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--invoices", type=Path, required=True)
    parser.add_argument("--payments", type=Path, required=True)
    parser.add_argument("--as_of", required=True)
    options = parser.parse_args(argv)
    as_of = options.as_of

    invoices = {
        entry["id"]: Invoice(
            entry["customer"],
            entry["due"],
            entry["status"] != "void" and entry["issued"] <= as_of,
            Decimal(entry["amount_cents"]) / 100,
        )
        for entry in json.loads(options.invoices.read_bytes())
    }
    unmatched = Decimal()
    with options.payments.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["paid_on"] > as_of:
                continue
            amount = Decimal(row["amount_cents"]) / 100
            if row["invoice_id"] in invoices:
                invoices[row["invoice_id"]].owed -= amount
            else:
                unmatched += amount

    sums: Counter[str] = Counter({name: Decimal() for name in ("current", "1-30", "31-60", "61-90", "90+")})
    people: dict[str, Debtor] = {}
    for invoice in invoices.values():
        if not invoice.counts or invoice.owed <= 0:
            continue
        days = days_between(invoice.due, as_of)
        sums[label(days)] += invoice.owed
        if days > 0:
            debtor = people.setdefault(invoice.customer, Debtor(invoice.customer))
            debtor.invoices += 1
            debtor.owed += invoice.owed
            debtor.oldest_due = min(debtor.oldest_due, invoice.due)

    out = Path("/var/outputs")
    (out / "buckets").write_text(json.dumps({name: float(value) for name, value in sums.items()}))
    with (out / "debtors").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["customer", "invoices", "owed", "oldest_due"])
        for debtor in sorted(people.values(), key=lambda debtor: (-debtor.owed, debtor.name)):
            writer.writerow([debtor.name, debtor.invoices, f"{debtor.owed:.2f}", debtor.oldest_due])
    (out / "unmatched").write_text(str(float(unmatched)))


if __name__ == "__main__":
    main()
