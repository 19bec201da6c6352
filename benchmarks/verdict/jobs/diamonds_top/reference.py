import csv
import sys

args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
stones = [row for row in csv.DictReader(open(args["--stones"])) if row["cut"] == args["--cut"]]
top = int(args["--top"])
open("/var/outputs/n", "w").write(str(len(stones)))

prices = [int(row["price"]) for row in stones]
listed = []
for i, row in enumerate(stones):
    dearer = sum(1 for price in prices if price > prices[i])
    if dearer < top:
        listed.append((-prices[i], float(row["carat"]), i))
listed.sort()
with open("/var/outputs/top_stones", "w") as out:
    out.write("carat,color,clarity,price\n")
    for _, _, i in listed:
        row = stones[i]
        out.write(f"{row['carat']},{row['color']},{row['clarity']},{row['price']}\n")

best, best_median = "", -1
for color in sorted({row["color"] for row in stones}):
    values = sorted(int(row["price"]) for row in stones if row["color"] == color)
    k = len(values)
    middle = values[k // 2] if k % 2 else (values[k // 2 - 1] + values[k // 2]) / 2
    if middle > best_median:
        best, best_median = color, middle
open("/var/outputs/best_color", "w").write(best)
