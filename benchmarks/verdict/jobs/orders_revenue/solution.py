import argparse
import csv
from collections import defaultdict
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

COUNTED = {"paid", "shipped"}


def read_orders(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def counts(order, since):
    ordered = datetime.fromisoformat(order["ordered_at"]).date()
    return order["status"] in COUNTED and ordered >= since


def revenue_of(order):
    gross = Decimal(order["quantity"]) * Decimal(order["unit_price_cents"]) / 100
    discount = Decimal(order["discount_percent"] or 0)
    return gross * (100 - discount) / 100


def best_product(orders):
    totals = defaultdict(Decimal)
    for order in orders:
        totals[order["product"]] += revenue_of(order)
    if not totals:
        return ""
    return min(totals, key=lambda product: (-totals[product], product))


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", required=True)
    parser.add_argument("--since", type=date.fromisoformat, required=True)
    args = parser.parse_args(argv)

    chosen = [order for order in read_orders(args.orders) if counts(order, args.since)]
    total = sum((revenue_of(order) for order in chosen), Decimal(0))
    results = {
        "revenue": round(float(total), 2),
        "orders": len(chosen),
        "average": round(float(total / len(chosen)), 2) if chosen else 0.0,
        "best_product": best_product(chosen),
    }
    out = Path("/var/outputs")
    out.mkdir(parents=True, exist_ok=True)
    for name, value in results.items():
        (out / name).write_text(str(value), encoding="utf-8")


if __name__ == "__main__":
    main()
