import csv
import sys
from datetime import datetime

args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
log = list(csv.DictReader(open(args["--readings"])))
least = int(args["--min_readings"])

with open("/var/outputs/hourly", "w") as out:
    print("sensor,hour,readings,fahrenheit", file=out)
    for key in sorted({(row["sensor"], row["time"][:13]) for row in log}):
        values = [float(row["celsius"]) for row in log if (row["sensor"], row["time"][:13]) == key and row["celsius"] != ""]
        if values and len(values) >= least:
            celsius = sum(values) / len(values)
            print(key[0], key[1] + ":00:00", len(values), celsius * 9 / 5 + 32, sep=",", file=out)

longest = 0
for row in log:
    # the time from this line to the next one of its sensor
    here = datetime.fromisoformat(row["time"])
    later = [
        datetime.fromisoformat(other["time"])
        for other in log
        if other["sensor"] == row["sensor"] and other["time"] > row["time"]
    ]
    if later:
        longest = max(longest, (min(later) - here).total_seconds() / 60)
open("/var/outputs/longest_gap", "w").write(str(int(longest)))

highest = max((float(row["celsius"]) for row in log if row["celsius"]), default=None)
names = sorted(row["sensor"] for row in log if row["celsius"] and float(row["celsius"]) == highest)
open("/var/outputs/warmest", "w").write(names[0] if names else "")
