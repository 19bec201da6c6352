import argparse
import csv
from itertools import groupby
from math import acos, cos, radians, sin


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--airports")
    parser.add_argument("--top", type=int)
    parser.add_argument("--lat", type=float)
    parser.add_argument("--lon", type=float)
    parser.add_argument("--radius_km", type=float)
    args = parser.parse_args(argv)

    counts, north, near = {}, None, 0
    lat0 = radians(args.lat)
    with open(args.airports, newline="", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            lat, lon = float(row["latitude"]), float(row["longitude"])
            if row["state"] not in {"NA", ""}:
                counts[row["state"]] = counts.get(row["state"], 0) + 1
            if north is None or lat > north[0]:
                north = (lat, row["iata"])
            # The same angle as the haversine formula's.
            cosine = sin(lat0) * sin(radians(lat)) + cos(lat0) * cos(radians(lat)) * cos(radians(lon - args.lon))
            near += 6371 * acos(max(-1.0, min(1.0, cosine))) <= args.radius_km

    with open("/var/outputs/ranking", "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["rank", "state", "airports"])
        rank = 1
        for count, states in groupby(sorted(counts, key=counts.get, reverse=True), key=counts.get):
            states = sorted(states)
            if rank <= args.top:
                writer.writerows([rank, state, count] for state in states)
            rank += len(states)
    with open("/var/outputs/northernmost", "w") as f:
        f.write(north[1])
    with open("/var/outputs/nearby", "w") as f:
        f.write(str(near))


if __name__ == "__main__":
    main()
