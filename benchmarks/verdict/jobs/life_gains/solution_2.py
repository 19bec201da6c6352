import argparse
import json
from pathlib import Path

import pandas as pd


def compute(frame, since):
    recent = frame[frame["year"] >= since].sort_values("year", kind="stable")
    edges = recent.groupby(["continent", "country"]).agg(
        years=("year", "nunique"), first=("lifeExp", "first"), last=("lifeExp", "last")
    )
    edges = edges[edges["years"] >= 2].reset_index()
    edges["gain"] = edges["last"] - edges["first"]
    return edges[["continent", "country", "gain"]]


def to_json(gains):
    ranked = gains.sort_values(["gain", "country"], ascending=[False, True])
    result = {}
    for continent, group in ranked.groupby("continent", sort=True):
        top = group.iloc[0]
        result[continent] = {
            "countries": int(len(group)),
            "mean_gain": float(group["gain"].mean()),
            "best": top["country"],
            "best_gain": float(top["gain"]),
        }
    return result


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--countries", required=True)
    parser.add_argument("--since", type=int, required=True)
    args = parser.parse_args(argv)
    gains = compute(pd.read_csv(args.countries), args.since)
    out = Path("/var/outputs")
    with open(out / "gains", "w", encoding="utf-8") as file:
        json.dump(to_json(gains), file, indent=2)
    (out / "declined").write_text(str(int((gains["gain"] < 0).sum())))


if __name__ == "__main__":
    main()
