import json
import sys

options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
cars = json.load(open(options["--cars"]))

unusable = 0
best = None
litres = {}
power = {}
for car in cars:
    mpg = car["Miles_per_Gallon"]
    if mpg is None or car["Horsepower"] is None:
        unusable += 1
        continue
    origin = car["Origin"]
    litres.setdefault(origin, []).append(235.214583 / mpg)
    tonnes = car["Weight_in_lbs"] * 0.00045359237
    power.setdefault(origin, []).append(car["Horsepower"] * 0.7457 / tonnes)
    year = int(car["Year"].split("-")[0])
    if year < int(options["--year_from"]):
        continue
    if best is None or mpg > best[0]:
        best = (mpg, year, car["Name"])
    elif mpg == best[0]:
        if year > best[1] or (year == best[1] and car["Name"] < best[2]):
            best = (mpg, year, car["Name"])

out = open("/var/outputs/by_origin", "w")
for origin in sorted(litres):
    values = sorted(litres[origin])
    n = len(values)
    if n % 2 == 1:
        median = values[n // 2]
    else:
        median = (values[n // 2 - 1] + values[n // 2]) / 2
    mean = sum(power[origin]) / n
    line = {"origin": origin, "cars": n, "median_l_per_100km": median, "mean_kw_per_tonne": mean}
    print(json.dumps(line), file=out)
out.close()
open("/var/outputs/unusable", "w").write(str(unusable))
open("/var/outputs/thriftiest", "w").write(best[2] if best else "none")
