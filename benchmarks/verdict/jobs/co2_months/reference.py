import csv
import sys
from datetime import date

args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
measured = {}
for row in csv.DictReader(open(args["--readings"])):
    if row["co2"] != "":
        text = row["date"]
        day = date(int(text[:4]), int(text[4:6]), int(text[6:]))
        measured.setdefault(day, []).append(float(row["co2"]))
days = sorted(measured)

peak = days[0]
gap = 0
for number, day in enumerate(days):
    if max(measured[day]) > max(measured[peak]):
        peak = day
    if number > 0:
        gap = max(gap, (day - days[number - 1]).days)

with open("/var/outputs/monthly", "w") as out:
    out.write("month,weeks,mean_ppm,above_year\n")
    for month in sorted({str(day)[:7] for day in days}):
        values = [value for day in days for value in measured[day] if str(day)[:7] == month]
        year = [value for day in days for value in measured[day] if str(day)[:4] == month[:4]]
        mean = sum(values) / len(values)
        if len(values) >= int(args["--min_weeks"]):
            out.write(f"{month},{len(values)},{mean},{mean - sum(year) / len(year)}\n")
open("/var/outputs/peak", "w").write(f"{peak}T00:00:00Z")
open("/var/outputs/longest_gap", "w").write(f"{gap * 24 * 60 * 60}s")
