import csv
import sys

options = {}
for position in range(1, len(sys.argv), 2):
    options[sys.argv[position]] = sys.argv[position + 1]

names = {}
for code, name in list(csv.reader(open(options["--airlines"])))[1:]:
    names[code] = name

flights = list(csv.DictReader(open(options["--flights"])))
for flight in flights:
    for column in ("dep_time", "arr_delay"):
        if flight[column] == "NA":
            flight[column] = ""
minutes = 0
for flight in flights:
    if flight["arr_delay"]:
        minutes += max(0, float(flight["arr_delay"]))

result = []
for code in {flight["carrier"] for flight in flights}:
    scheduled = cancelled = arrived = total = late = 0
    for flight in flights:
        if flight["carrier"] != code:
            continue
        scheduled += 1
        if not flight["dep_time"]:
            cancelled += 1
        if flight["arr_delay"]:
            arrived += 1
            total += float(flight["arr_delay"])
            if float(flight["arr_delay"]) >= 15:
                late += 1
    if scheduled >= int(options["--min_flights"]):
        name = names[code] if code in names else code
        mean, share = (total / arrived, late / arrived) if arrived else ("", "")
        result.append((name, scheduled, cancelled, mean, share))
result.sort()

best = ""
lowest = 2
for line in result:
    if line[4] != "" and line[4] < lowest:
        best, lowest = line[0], line[4]

with open("/var/outputs/delays", "w") as out:
    writer = csv.writer(out)
    writer.writerow(["name", "flights", "cancelled", "mean_delay", "late_share"])
    writer.writerows(result)
with open("/var/outputs/hours_lost", "w") as out:
    out.write(str(minutes / 60))
with open("/var/outputs/punctual", "w") as out:
    out.write(best)
