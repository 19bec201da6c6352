import csv
import sys
from fractions import Fraction

args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
total = Fraction(0)
n = 0
products = {}
for row in csv.DictReader(open(args["--orders"])):
    if row["ordered_at"][:10] >= args["--since"] and (row["status"] == "paid" or row["status"] == "shipped"):
        price = Fraction(row["unit_price_cents"]) / 100 * int(row["quantity"])
        if row["discount_percent"] != "":
            price -= price * Fraction(row["discount_percent"]) / 100
        total += price
        n += 1
        products[row["product"]] = products.get(row["product"], 0) + price

best = ""
if products:
    best = sorted((-value, name) for name, value in products.items())[0][1]
for name, value in [
    ("revenue", round(float(total), 2)),
    ("orders", n),
    ("average", round(float(total / n), 2) if n else 0),
    ("best_product", best),
]:
    open("/var/outputs/" + name, "w").write(str(value))
