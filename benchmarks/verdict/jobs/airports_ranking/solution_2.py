from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path


def haversine(a: tuple[float, float], b: tuple[float, float]) -> float:
    (lat1, lon1), (lat2, lon2) = a, b
    p1, p2 = math.radians(lat1), math.radians(lat2)
    dp, dl = p2 - p1, math.radians(lon2 - lon1)
    h = (1 - math.cos(dp) + math.cos(p1) * math.cos(p2) * (1 - math.cos(dl))) / 2
    return 6371.0 * 2 * math.atan2(math.sqrt(h), math.sqrt(1 - h))


def ranking(states: list[str]) -> list[tuple[int, str, int]]:
    counts: dict[str, int] = {}
    for state in states:
        counts[state] = counts.get(state, 0) + 1
    rows = [(1 + sum(other > count for other in counts.values()), state, count) for state, count in counts.items()]
    return sorted(rows)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--airports", type=Path, required=True)
    parser.add_argument("--top", type=int, required=True)
    for name in ("lat", "lon", "radius_km"):
        parser.add_argument(f"--{name}", type=float, required=True)
    args = parser.parse_args(argv)
    with args.airports.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    out = Path("/var/outputs")
    states = [row["state"] for row in rows if row["state"] and row["state"] != "NA"]
    lines = [f"{rank},{state},{count}" for rank, state, count in ranking(states) if rank <= args.top]
    (out / "ranking").write_text("\n".join(["rank,state,airports", *lines]) + "\n")
    highest = max(float(row["latitude"]) for row in rows)
    (out / "northernmost").write_text(next(row["iata"] for row in rows if float(row["latitude"]) == highest))
    near = [r for r in rows if haversine((args.lat, args.lon), (float(r["latitude"]), float(r["longitude"]))) <= args.radius_km]
    (out / "nearby").write_text(str(len(near)))


if __name__ == "__main__":
    main()
