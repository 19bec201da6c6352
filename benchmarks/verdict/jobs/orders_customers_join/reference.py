import csv
import sys

args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
orders = list(csv.DictReader(open(args["--orders"])))
customers = list(csv.DictReader(open(args["--customers"])))

table = {}
for customer in customers:
    country = customer["country"]
    if country == "":
        country = "unknown"
    line = table.setdefault(country, [0, 0, 0])
    line[0] += 1
    for order in orders:
        if order["customer_id"] == customer["customer_id"]:
            line[1] += 1
            line[2] += float(order["amount"])

known = [customer["customer_id"] for customer in customers]
unmatched = len([order for order in orders if order["customer_id"] not in known])
with open("/var/outputs/by_country", "w") as out:
    print("country,customers,orders,amount", file=out)
    for country in sorted(table):
        people, count, amount = table[country]
        print(f"{country},{people},{count},{amount:.2f}", file=out)
open("/var/outputs/unmatched", "w").write(str(unmatched))
