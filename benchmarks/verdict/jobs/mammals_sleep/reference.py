import csv
import sys

rows = list(csv.DictReader(open(sys.argv[2])))

parts = []
for row in rows:
    if row["sleep_rem"] != "NA":
        parts.append(float(row["sleep_rem"]) / float(row["sleep_total"]) * 100)
share = sum(parts) / len(parts) if parts else 0
open("/var/outputs/rem_share", "w").write(str(round(share, 2)))

kinds = {}
for row in rows:
    kind = row["vore"] if row["vore"] != "NA" else "none"
    kinds.setdefault(kind, []).append(row)
order = sorted(kinds)
order.sort(key=lambda kind: len(kinds[kind]), reverse=True)
with open("/var/outputs/by_vore", "w") as out:
    print("vore,animals,median_sleep,with_rem", file=out)
    for kind in order:
        sleep = sorted(float(row["sleep_total"]) for row in kinds[kind])
        n = len(sleep)
        middle = (sleep[(n - 1) // 2] + sleep[n // 2]) / 2
        rem = 0
        for row in kinds[kind]:
            if row["sleep_rem"] != "NA":
                rem += 1
        print(kind, n, middle, rem, sep=",", file=out)

name, best, unknown = "", None, 0
for row in rows:
    if row["brainwt"] == "NA":
        unknown += 1
        continue
    ratio = float(row["brainwt"]) / float(row["bodywt"])
    if best is None or ratio > best:
        name, best = row["name"], ratio
open("/var/outputs/smartest", "w").write(name)
open("/var/outputs/unknown_brains", "w").write(str(unknown))
