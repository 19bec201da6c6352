import argparse
import csv
from collections import Counter
from math import asin, cos, radians, sin, sqrt
from pathlib import Path

OUTPUTS = Path("/var/outputs")
EARTH_KM = 6371


def read_airports(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def rank_states(airports, top):
    counts = Counter(row["state"] for row in airports if row["state"] not in ("", "NA"))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ranked = []
    for position, (state, count) in enumerate(ordered, start=1):
        rank = ranked[-1][0] if ranked and ranked[-1][2] == count else position
        if rank > top:
            break
        ranked.append((rank, state, count))
    return ranked


def distance_km(lat1, lon1, lat2, lon2):
    lat1, lon1, lat2, lon2 = map(radians, (lat1, lon1, lat2, lon2))
    a = sin((lat2 - lat1) / 2) ** 2 + cos(lat1) * cos(lat2) * sin((lon2 - lon1) / 2) ** 2
    return 2 * EARTH_KM * asin(sqrt(a))


def northernmost(airports):
    return max(airports, key=lambda row: float(row["latitude"]))["iata"]


def nearby(airports, lat, lon, radius_km):
    return sum(
        distance_km(lat, lon, float(row["latitude"]), float(row["longitude"])) <= radius_km for row in airports
    )


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--airports", required=True)
    parser.add_argument("--top", type=int, required=True)
    parser.add_argument("--lat", type=float, required=True)
    parser.add_argument("--lon", type=float, required=True)
    parser.add_argument("--radius_km", type=float, required=True)
    args = parser.parse_args(argv)
    airports = read_airports(args.airports)
    OUTPUTS.mkdir(parents=True, exist_ok=True)
    with open(OUTPUTS / "ranking", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["rank", "state", "airports"])
        writer.writerows(rank_states(airports, args.top))
    (OUTPUTS / "northernmost").write_text(northernmost(airports))
    (OUTPUTS / "nearby").write_text(str(nearby(airports, args.lat, args.lon, args.radius_km)))


if __name__ == "__main__":
    main()
