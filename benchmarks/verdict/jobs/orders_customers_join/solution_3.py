import argparse
import csv
import sqlite3
from pathlib import Path

QUERY = """
SELECT c.country, COUNT(DISTINCT c.customer_id), COUNT(o.order_id), COALESCE(SUM(o.cents), 0)
FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id
GROUP BY c.country ORDER BY c.country
"""
UNMATCHED = "SELECT COUNT(*) FROM orders WHERE customer_id NOT IN (SELECT customer_id FROM customers)"


def build(orders, customers):
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE orders (order_id TEXT, customer_id TEXT, cents INTEGER)")
    db.execute("CREATE TABLE customers (customer_id TEXT, country TEXT)")
    with open(orders, newline="") as f:
        rows = [(r["order_id"], r["customer_id"], round(float(r["amount"]) * 100)) for r in csv.DictReader(f)]
        db.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
    with open(customers, newline="") as f:
        people = [(r["customer_id"], r["country"] if r["country"] else "unknown") for r in csv.DictReader(f)]
        db.executemany("INSERT INTO customers VALUES (?, ?)", people)
    return db


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders")
    parser.add_argument("--customers")
    args = parser.parse_args(argv)
    db = build(args.orders, args.customers)
    out = Path("/var/outputs")
    with open(out / "by_country", "w", newline="") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(["country", "customers", "orders", "amount"])
        for country, customers, orders, cents in db.execute(QUERY):
            writer.writerow([country, customers, orders, f"{cents / 100:.2f}"])
    (unmatched,) = db.execute(UNMATCHED).fetchone()
    (out / "unmatched").write_text(str(unmatched))


if __name__ == "__main__":
    main()
