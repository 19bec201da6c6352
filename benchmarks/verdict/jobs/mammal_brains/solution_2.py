import argparse
import json
from pathlib import Path

import pandas as pd

OUTPUTS = Path("/var/outputs")


def diets(mammals):
    result = []
    for diet, group in mammals.groupby(mammals["vore"].fillna("unknown")):
        dreaming = group.dropna(subset=["sleep_rem"])
        share = 100 * dreaming["sleep_rem"].sum() / dreaming["sleep_total"].sum() if len(dreaming) else None
        result.append(
            {
                "diet": diet,
                "mammals": len(group),
                "median_sleep_h": float(group["sleep_total"].median()),
                "rem_percent": None if share is None else float(share),
            }
        )
    result.sort(key=lambda entry: entry["diet"])
    result.sort(key=lambda entry: entry["median_sleep_h"], reverse=True)
    return result


def brainiest(mammals, k):
    ratio = mammals["brainwt"] / mammals["bodywt"]
    ranked = mammals.assign(ratio=ratio).dropna(subset=["ratio"])
    ranked = ranked.sort_values(["ratio", "name"], ascending=[False, True])
    return "; ".join(ranked["name"].head(k))


def day_sleeper(mammals):
    longest = mammals.groupby("vore")["sleep_total"].max()
    if not {"herbi", "carni"} <= set(longest.index):
        return False
    return bool(longest["herbi"] > longest["carni"])


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mammals", required=True)
    parser.add_argument("--k", type=int, required=True)
    args = parser.parse_args(argv)
    mammals = pd.read_csv(args.mammals)
    (OUTPUTS / "diets").write_text(json.dumps(diets(mammals)))
    (OUTPUTS / "brainiest").write_text(brainiest(mammals, args.k))
    (OUTPUTS / "day_sleeper").write_text(str(day_sleeper(mammals)).lower())


if __name__ == "__main__":
    main()
