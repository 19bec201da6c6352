import csv
import sys

options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
least = int(options["--min_size"])
days, count, tips, bills = [], {}, {}, {}
for row in csv.DictReader(open(options["--bills"])):
    if row["tip"] == "":
        continue
    if int(row["size"]) < least:
        continue
    day = row["day"]
    if day not in days:
        days.append(day)
        count[day] = 0
        tips[day] = 0
        bills[day] = 0
    count[day] += 1
    tips[day] += float(row["tip"])
    bills[day] += float(row["total_bill"])

total = sum(bills.values())
rate = sum(tips.values()) / total if total else 0.0
open("/var/outputs/tip_rate", "w").write(str(round(rate, 4)))

days.sort()
ordered = []
while days:
    best = days[0]
    for day in days:
        if tips[day] / count[day] > tips[best] / count[best]:
            best = day
    ordered.append(best)
    days.remove(best)
with open("/var/outputs/by_day", "w") as out:
    print("day,bills,mean_tip", file=out)
    for day in ordered:
        print(day, count[day], round(tips[day] / count[day], 2), sep=",", file=out)
