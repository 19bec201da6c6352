from __future__ import annotations

import argparse
import csv
import datetime as dt
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple


class Order(NamedTuple):
    product: str
    revenue: Fraction
    status: str
    day: dt.date

    @classmethod
    def parse(cls, row: dict[str, str]) -> "Order":
        percent = Fraction(row["discount_percent"]) if row["discount_percent"] else Fraction(0)
        gross = Fraction(int(row["quantity"]) * int(row["unit_price_cents"]), 100)
        day = dt.datetime.fromisoformat(row["ordered_at"]).date()
        return cls(row["product"], gross * (1 - percent / 100), row["status"], day)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", type=Path, required=True)
    parser.add_argument("--since", required=True)
    args = parser.parse_args(argv)
    since = dt.date.fromisoformat(args.since)
    with args.orders.open(newline="", encoding="utf-8") as file:
        orders = [Order.parse(row) for row in csv.DictReader(file)]
    orders = [order for order in orders if order.day >= since and order.status in {"shipped", "paid"}]
    totals: Counter[str] = Counter()
    for order in orders:
        totals[order.product] += order.revenue
    revenue = sum(totals.values(), Fraction(0))
    highest = max(totals.values(), default=None)
    winners = sorted(product for product, total in totals.items() if total == highest)

    out = Path("/var/outputs")
    (out / "revenue").write_text(str(round(float(revenue), 2)))
    (out / "orders").write_text(str(len(orders)))
    (out / "average").write_text(str(round(float(revenue / len(orders)), 2) if orders else 0.0))
    (out / "best_product").write_text(winners[0] if winners else "")


if __name__ == "__main__":
    main()
