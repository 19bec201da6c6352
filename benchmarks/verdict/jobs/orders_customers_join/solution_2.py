import argparse
import csv
from collections import Counter, defaultdict


def load(path):
    with open(path, newline="", encoding="utf-8") as handle:
        yield from csv.DictReader(handle)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", required=True)
    parser.add_argument("--customers", required=True)
    options = parser.parse_args(argv)

    home = {row["customer_id"]: row["country"] or "unknown" for row in load(options.customers)}
    per_customer = defaultdict(list)
    for row in load(options.orders):
        per_customer[row["customer_id"]].append(float(row["amount"]))

    people = Counter(home.values())
    lines = ["country,customers,orders,amount"]
    for country, count in sorted(people.items()):
        amounts = [amount for customer, where in home.items() if where == country for amount in per_customer.get(customer, [])]
        lines.append(f"{country},{count},{len(amounts)},{sum(amounts):.2f}")
    unmatched = sum(len(amounts) for customer, amounts in per_customer.items() if customer not in home)

    with open("/var/outputs/by_country", "w", encoding="utf-8") as handle:
        handle.write("\n".join(lines) + "\n")
    with open("/var/outputs/unmatched", "w", encoding="utf-8") as handle:
        handle.write(str(unmatched))


if __name__ == "__main__":
    main()
