import csv
import sys

args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
rows = list(csv.DictReader(open(args["--generation"])))
first = 0
share_of = {}
out = open("/var/outputs/shares", "w")
out.write("year,total_twh,renewable_share,change\n")
for year in range(1900, 2101):
    total = 0
    renewable = 0
    for row in rows:
        if row["year"].startswith(f"{year}-"):
            amount = float(row["net_generation"] or "0")
            total += amount
            if row["source"] == "Renewables":
                renewable += amount
    if total == 0:
        continue
    share_of[year] = renewable / total
    change = ""
    if year - 1 in share_of:
        change = share_of[year] - share_of[year - 1]
    out.write(f"{year},{total / 1000},{share_of[year]},{change}\n")
    if first == 0 and share_of[year] >= float(args["--threshold"]):
        first = year
out.close()
open("/var/outputs/first_year", "w").write(str(first))
