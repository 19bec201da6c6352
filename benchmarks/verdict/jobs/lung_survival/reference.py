import csv
import json
import sys

args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
days = float(args["--days"])
rows = []
for row in csv.DictReader(open(args["--patients"])):
    if row["time"] != "" and row["status"] != "":
        rows.append((float(row["time"]), int(float(row["status"])), row["sex"][:1], row["ph.ecog"]))

medians = {}
for name, sex in [("male", "1"), ("female", "2"), ("all", None)]:
    own = [row for row in rows if sex is None or row[2] == sex]
    s = 1.0
    medians[name] = None
    at_days = 1.0
    for t in sorted(set(row[0] for row in own)):
        n = len([row for row in own if row[0] >= t])
        d = len([row for row in own if row[0] == t and row[1] == 1])
        if d == 0:
            continue
        s = s * (n - d) / n
        if medians[name] is None and s < 0.5000000001:
            medians[name] = t
        if t <= days:
            at_days = s
del medians["all"]
json.dump(medians, open("/var/outputs/median_days", "w"))
open("/var/outputs/survival_at", "w").write(str(at_days))
count = 0
for row in rows:
    if row[1] == 1 and row[3] != "":
        if float(row[3]) >= 2:
            count += 1
open("/var/outputs/poor_score_deaths", "w").write(str(count))
