import argparse
from pathlib import Path

import pandas as pd

OUTPUTS = Path("/var/outputs")
COLUMNS = ["carat", "color", "clarity", "price"]


def select_cut(stones, cut):
    return stones[stones["cut"] == cut]


def top_stones(stones, top):
    ordered = stones.sort_values(["price", "carat"], ascending=[False, True], kind="stable")
    if len(ordered) > top:
        limit = ordered["price"].iloc[top - 1]
        ordered = ordered[ordered["price"] >= limit]
    return ordered[COLUMNS]


def best_color(stones):
    if stones.empty:
        return ""
    medians = stones.groupby("color")["price"].median()
    return medians[medians == medians.max()].index.min()


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--stones", required=True)
    parser.add_argument("--cut", required=True)
    parser.add_argument("--top", type=int, required=True)
    args = parser.parse_args(argv)
    stones = select_cut(pd.read_csv(args.stones), args.cut)
    OUTPUTS.mkdir(parents=True, exist_ok=True)
    top_stones(stones, args.top).to_csv(OUTPUTS / "top_stones", index=False)
    (OUTPUTS / "n").write_text(str(len(stones)))
    (OUTPUTS / "best_color").write_text(best_color(stones))


if __name__ == "__main__":
    main()
