import csv
import json
import sys

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()

rows = []
for row in csv.DictReader(open(sys.argv[2])):
    if row["price"] == "":
        continue
    month, day, year = row["date"].split()
    rows.append((row["symbol"], int(year), MONTHS.index(month), int(day), float(row["price"])))
rows.sort()
symbols = sorted({row[0] for row in rows})
years = sorted({row[1] for row in rows})

with open("/var/outputs/closing", "w") as out:
    print("year", *symbols, sep=",", file=out)
    for year in years:
        cells = []
        for symbol in symbols:
            prices = [row[4] for row in rows if row[0] == symbol and row[1] == year]
            cells.append(f"{prices[-1]:.2f}" if prices else "")
        print(year, *cells, sep=",", file=out)

returns = {}
for symbol in symbols:
    prices = [row[4] for row in rows if row[0] == symbol]
    returns[symbol] = round((prices[-1] / prices[0] - 1) * 100, 2)
open("/var/outputs/returns", "w").write(json.dumps(returns))
best = max(returns.values())
open("/var/outputs/winner", "w").write([symbol for symbol in symbols if returns[symbol] == best][0])
