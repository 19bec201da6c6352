import csv
import sys

args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
rows = [row for row in csv.DictReader(open(args["--housing"])) if row["year"] == args["--year"]]

known = 0
sales, volume, quarters = {}, {}, {}
for row in rows:
    if row["listings"] not in ("NA", ""):
        known += 1
    if row["sales"] in ("NA", "") or row["volume"] in ("NA", ""):
        continue
    city = row["city"]
    if city not in sales:
        sales[city] = volume[city] = 0
        quarters[city] = {1: 0, 2: 0, 3: 0, 4: 0}
    sales[city] += float(row["sales"])
    volume[city] += float(row["volume"])
    month = int(row["month"])
    quarter = 1 if month <= 3 else 2 if month <= 6 else 3 if month <= 9 else 4
    quarters[city][quarter] += float(row["sales"])

price = {city: volume[city] / sales[city] for city in sales if sales[city] > 0}
lines = []
for city in price:
    rank = 1 + sum(1 for other in price if price[other] > price[city])
    most = max(quarters[city].values())
    quarter = min(q for q in quarters[city] if quarters[city][q] == most)
    lines.append((rank, city, int(sales[city]), price[city], f"Q{quarter}"))
lines.sort()
with open("/var/outputs/prices", "w") as out:
    out.write("rank,city,sales,average_price,best_quarter\n")
    for line in lines[: int(args["--n"])]:
        out.write(",".join(str(cell) for cell in line) + "\n")
open("/var/outputs/coverage", "w").write(str(known / len(rows) if rows else 0.0))
