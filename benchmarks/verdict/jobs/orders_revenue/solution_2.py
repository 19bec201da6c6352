import argparse
import csv


def revenue_cents(row):
    discount = float(row["discount_percent"]) if row["discount_percent"].strip() else 0.0
    return int(row["quantity"]) * int(row["unit_price_cents"]) * (100.0 - discount)


def summarise(rows, since):
    by_product = {}
    total = 0.0
    count = 0
    for row in rows:
        if row["status"] not in ("paid", "shipped"):
            continue
        if row["ordered_at"][:10] < since:
            continue
        value = revenue_cents(row)
        total += value
        count += 1
        by_product[row["product"]] = by_product.get(row["product"], 0.0) + value
    best = ""
    for product in sorted(by_product):
        if not best or by_product[product] > by_product[best]:
            best = product
    euros = total / 10000
    return {
        "revenue": f"{euros:.2f}",
        "orders": str(count),
        "average": f"{euros / count:.2f}" if count else "0",
        "best_product": best,
    }


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders")
    parser.add_argument("--since")
    args = parser.parse_args(argv)
    with open(args.orders, newline="") as f:
        results = summarise(csv.DictReader(f), args.since)
    for name, text in results.items():
        with open(f"/var/outputs/{name}", "w") as f:
            f.write(text)


if __name__ == "__main__":
    main()
