import csv
import json
import sys

args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
mammals = list(csv.DictReader(open(args["--mammals"])))
unknown = ("NA", "")

result = []
for diet in ["carni", "herbi", "insecti", "omni", "unknown"]:
    hours, rem, rem_hours, n = [], 0, 0, 0
    for mammal in mammals:
        if mammal["vore"] == diet or (diet == "unknown" and mammal["vore"] in unknown):
            n += 1
            hours.append(float(mammal["sleep_total"]))
            if mammal["sleep_rem"] not in unknown:
                rem += float(mammal["sleep_rem"])
                rem_hours += float(mammal["sleep_total"])
    if n == 0:
        continue
    hours.sort()
    middle = (hours[(n - 1) // 2] + hours[n // 2]) / 2
    percent = 100 * rem / rem_hours if rem_hours else None
    result.append({"diet": diet, "mammals": n, "median_sleep_h": middle, "rem_percent": percent})
result.sort(key=lambda entry: entry["median_sleep_h"], reverse=True)
json.dump(result, open("/var/outputs/diets", "w"))

ratios = {}
for mammal in mammals:
    if mammal["brainwt"] not in unknown and mammal["bodywt"] not in unknown:
        ratios.setdefault(float(mammal["brainwt"]) / float(mammal["bodywt"]), []).append(mammal["name"])
names = []
for ratio in sorted(ratios, reverse=True):
    names += sorted(ratios[ratio])
open("/var/outputs/brainiest", "w").write("; ".join(names[: int(args["--k"])]))

longest = {"herbi": None, "carni": None}
for mammal in mammals:
    if mammal["vore"] in longest:
        hours = float(mammal["sleep_total"])
        if longest[mammal["vore"]] is None or hours > longest[mammal["vore"]]:
            longest[mammal["vore"]] = hours
answer = None not in longest.values() and longest["herbi"] > longest["carni"]
open("/var/outputs/day_sleeper", "w").write("true" if answer else "false")
