import csv
import json
import sys

given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
since = int(given["--since"])

first, last, continent_of = {}, {}, {}
for row in csv.DictReader(open(given["--countries"], encoding="utf-8")):
    country, year, age = row["country"], int(row["year"]), float(row["lifeExp"])
    if year < since:
        continue
    continent_of[country] = row["continent"]
    if country not in first or year < first[country][0]:
        first[country] = (year, age)
    if country not in last or year > last[country][0]:
        last[country] = (year, age)

report = {}
totals = {}
declined = 0
for country in sorted(first):
    if first[country][0] == last[country][0]:
        continue
    gain = last[country][1] - first[country][1]
    if gain < 0:
        declined += 1
    continent = continent_of[country]
    if continent not in report:
        report[continent] = {"countries": 0, "mean_gain": 0, "best": country, "best_gain": gain}
        totals[continent] = 0
    entry = report[continent]
    entry["countries"] += 1
    totals[continent] += gain
    if gain > entry["best_gain"]:
        entry["best"] = country
        entry["best_gain"] = gain
for continent in report:
    report[continent]["mean_gain"] = totals[continent] / report[continent]["countries"]

json.dump(report, open("/var/outputs/gains", "w"))
print(declined, file=open("/var/outputs/declined", "w"), end="")
