import csv
import sys

path = sys.argv[sys.argv.index("--penguins") + 1]
rows = list(csv.DictReader(open(path)))
missing = ("", "NA")

lines = []
for species in sorted({row["species"] for row in rows}):
    own = [row for row in rows if row["species"] == species]
    masses = [float(row["body_mass_g"]) for row in own if row["body_mass_g"] not in missing]
    female = sum(1 for row in own if row["sex"] == "female")
    male = sum(1 for row in own if row["sex"] == "male")
    mean = sum(masses) / len(masses) / 1000 if masses else ""
    share = female / (female + male) if female + male else ""
    lines.append([species, len(own), len(masses), mean, share])
with_mean = [line for line in lines if line[3] != ""]
with_mean.sort(key=lambda line: line[3], reverse=True)
without = [line for line in lines if line[3] == ""]
with open("/var/outputs/summary", "w") as out:
    print("species,penguins,weighed,mean_mass_kg,female_share", file=out)
    for line in with_mean + without:
        print(*line, sep=",", file=out)

island, most = "", 0
for row in rows:
    if row["body_mass_g"] in missing:
        continue
    mass = float(row["body_mass_g"])
    if mass > most or (mass == most and row["island"] < island):
        island, most = row["island"], mass
open("/var/outputs/heaviest_island", "w").write(island)
