import csv
import json
import sys

args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
window = int(args["--window"])
rows = list(csv.DictReader(open(args["--meat"])))
kinds = [kind for kind in rows[0] if kind != "date"]

with open("/var/outputs/yearly", "w") as out:
    out.write("year,kind,months,kilotonnes\n")
    for year in sorted({row["date"][:4] for row in rows}):
        lines = []
        for kind in kinds:
            months, total = 0, 0
            for row in rows:
                if row["date"][:4] == year and row[kind] != "":
                    months += 1
                    total += float(row[kind])
            if months:
                lines.append((-total, kind, months))
        for total, kind, months in sorted(lines):
            out.write(f"{year},{kind},{months},{-total * 0.45359237}\n")

means = {}
for kind in kinds:
    known = sorted((row["date"], float(row[kind])) for row in rows if row[kind] != "")
    if len(known) >= window:
        means[kind] = sum(figure for _, figure in known[len(known) - window :]) / window
json.dump(means, open("/var/outputs/trend", "w"))

first = ""
for row in rows:
    if row["beef"] == "" or row["broilers"] == "":
        continue
    if float(row["broilers"]) > float(row["beef"]) and (first == "" or row["date"] < first):
        first = row["date"]
open("/var/outputs/overtaken", "w").write(first[:7])
