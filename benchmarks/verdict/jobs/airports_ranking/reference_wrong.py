import argparse
import csv
import math

parser = argparse.ArgumentParser()
for name in ("airports", "top", "lat", "lon", "radius_km"):
    parser.add_argument("--" + name)
args = {"--" + name: value for name, value in vars(parser.parse_args()).items()}
rows = list(csv.DictReader(open(args["--airports"])))
top = int(args["--top"])
lat, lon, radius = float(args["--lat"]), float(args["--lon"]), float(args["--radius_km"])

states = {}
for row in rows:
    if row["state"] in ("NA", ""):
        continue
    states[row["state"]] = states.get(row["state"], 0) + 1
table = []
for state in states:
    better = 1
    for other in states:
        if (states[other], state) > (states[state], other):
            better += 1
    if better <= top:
        table.append((better, state, states[state]))
table.sort()
with open("/var/outputs/ranking", "w") as out:
    print("rank,state,airports", file=out)
    for rank, state, count in table:
        print(rank, state, count, sep=",", file=out)

north = rows[0]
for row in rows:
    if float(row["latitude"]) > float(north["latitude"]):
        north = row
open("/var/outputs/northernmost", "w").write(north["iata"])


def point(latitude, longitude):
    a, b = math.radians(latitude), math.radians(longitude)
    return math.cos(a) * math.cos(b), math.cos(a) * math.sin(b), math.sin(a)


near = 0
for row in rows:
    chord = math.dist(point(lat, lon), point(float(row["latitude"]), float(row["longitude"])))
    if 6371 * 2 * math.asin(chord / 2) <= radius:
        near += 1
open("/var/outputs/nearby", "w").write(str(near))
