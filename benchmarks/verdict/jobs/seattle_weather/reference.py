import csv
import sys
from datetime import date, timedelta

args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
days = {}
for row in csv.DictReader(open(args["--weather"])):
    y, m, d = row["date"].split("/")
    if int(y) == int(args["--year"]):
        days[date(int(y), int(m), int(d))] = row

total = 0
for row in days.values():
    total += float(row["precipitation"])
open("/var/outputs/rain_inches", "w").write(str(round(total / 25.4, 2)))

longest = 0
for day in days:
    length = 0
    while day in days and float(days[day]["precipitation"]) == 0:
        length += 1
        day += timedelta(days=1)
    if length > longest:
        longest = length
open("/var/outputs/longest_dry", "w").write(str(longest))

warmest = 0
highest = None
with open("/var/outputs/months", "w") as out:
    print("month,days,max_wind_kmh,rainy_share", file=out)
    for month in range(1, 13):
        rows = [row for day, row in sorted(days.items()) if day.month == month]
        if len(rows) == 0:
            continue
        mean = sum(float(row["temp_max"]) for row in rows) / len(rows)
        if highest is None or mean > highest:
            highest = mean
            warmest = month
        wind = max(float(row["wind"]) for row in rows) * 3.6
        rainy = len([row for row in rows if row["weather"] in ["rain", "drizzle"]])
        print(f"{month},{len(rows)},{wind:.1f},{rainy / len(rows):.3f}", file=out)
open("/var/outputs/warmest_month", "w").write(str(warmest))
