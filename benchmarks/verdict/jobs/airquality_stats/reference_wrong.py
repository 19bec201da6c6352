import csv
import sys
from fractions import Fraction

rows = list(csv.DictReader(open(sys.argv[2])))
known = [row for row in rows if row["Ozone"] != "NA"]

with open("/var/outputs/monthly", "w") as out:
    print("month,days,measured,mean_ozone,sd_ozone", file=out)
    for month in range(1, 13):
        days = [row for row in rows if row["Month"] == str(month)]
        if not days:
            continue
        values = [Fraction(row["Ozone"]) for row in days if row["Ozone"] != "NA"]
        mean = sd = ""
        if values:
            average = sum(values) / len(values)
            mean = round(float(average), 3)
        if len(values) > 1:
            variance = sum((value - average) ** 2 for value in values) / len(values)
            sd = round(float(variance) ** 0.5, 3)
        print(month, len(days), len(values), mean, sd, sep=",", file=out)

x = [Fraction(row["Ozone"]) for row in known]
y = [Fraction(row["Temp"]) for row in known]
n = len(known)
mx, my = sum(x) / n, sum(y) / n
sxy = sum((a - mx) * (b - my) for a, b in zip(x, y))
sxx = sum((a - mx) ** 2 for a in x)
syy = sum((b - my) ** 2 for b in y)
open("/var/outputs/correlation", "w").write(str(round(float(sxy) / float(sxx * syy) ** 0.5, 4)))

x.sort()
place = Fraction(9, 10) * (n - 1)
low = int(place)
high = low + 1 if low + 1 < n else low
limit = x[low] + (place - low) * (x[high] - x[low])
open("/var/outputs/high_days", "w").write(str(len([a for a in x if a > limit])))
