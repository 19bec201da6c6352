import csv
import sys
from datetime import date

args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
terms, ended, total = {}, {}, {}
serving = 0
best = ""
best_key = None
for row in csv.DictReader(open(args["--senators"], encoding="utf-8")):
    if row["reason"] == "Appointment declined":
        continue
    province = row["Province / Territory"].replace(" (Division)", "")
    for counts in (terms, ended, total):
        counts.setdefault(province, 0)
    terms[province] += 1
    start, end = row["start_date"][:10], row["end_date"][:10]
    has_ended = row["reason"] != ""
    if start <= args["--on"] and not (has_ended and end <= args["--on"]):
        serving += 1
    if not has_ended:
        continue
    days = date.fromisoformat(end).toordinal() - date.fromisoformat(start).toordinal()
    ended[province] += 1
    total[province] += days
    key = (-days, start)
    if best_key is None or key < best_key:
        best, best_key = row["Name"], key

pieces = best.split(",")
if len(pieces) > 1:
    best = pieces[-1].strip() + " " + ",".join(pieces[:-1])
with open("/var/outputs/by_province", "w", encoding="utf-8") as out:
    print("province,terms,ended,mean_days", file=out)
    for number, province in sorted((-terms[province], province) for province in terms):
        mean = total[province] / ended[province] if ended[province] else ""
        print(province, -number, ended[province], mean, sep=",", file=out)
open("/var/outputs/serving", "w").write(str(serving))
open("/var/outputs/longest", "w", encoding="utf-8").write(best)
