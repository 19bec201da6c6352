import argparse
import csv
from dataclasses import dataclass
from pathlib import Path

OUTPUTS = Path("/var/outputs")


@dataclass
class Country:
    customers: int = 0
    orders: int = 0
    amount: float = 0.0


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def summarise(orders, customers):
    country_of = {}
    countries = {}
    for customer in customers:
        name = customer["country"].strip() or "unknown"
        country_of[customer["customer_id"]] = name
        countries.setdefault(name, Country()).customers += 1
    unmatched = 0
    for order in orders:
        name = country_of.get(order["customer_id"])
        if name is None:
            unmatched += 1
            continue
        countries[name].orders += 1
        countries[name].amount += float(order["amount"])
    return countries, unmatched


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", required=True)
    parser.add_argument("--customers", required=True)
    args = parser.parse_args(argv)
    countries, unmatched = summarise(read_rows(args.orders), read_rows(args.customers))
    OUTPUTS.mkdir(parents=True, exist_ok=True)
    with open(OUTPUTS / "by_country", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["country", "customers", "orders", "amount"])
        for name in sorted(countries):
            country = countries[name]
            writer.writerow([name, country.customers, country.orders, f"{country.amount:.2f}"])
    (OUTPUTS / "unmatched").write_text(str(unmatched))


if __name__ == "__main__":
    main()
