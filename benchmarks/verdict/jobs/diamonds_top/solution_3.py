"""List the most expensive diamonds of one cut."""

from __future__ import annotations

import argparse
import os

import pandas as pd


def most_expensive(frame: pd.DataFrame, top: int) -> pd.DataFrame:
    frame = frame.sort_values("carat", kind="mergesort").sort_values("price", ascending=False, kind="mergesort")
    rank = frame["price"].rank(method="min", ascending=False)
    return frame.loc[rank <= top, ["carat", "color", "clarity", "price"]]


def best_color(frame: pd.DataFrame) -> str:
    if len(frame) == 0:
        return ""
    table = frame.groupby("color", as_index=False)["price"].median()
    table = table.sort_values(["price", "color"], ascending=[False, True])
    return str(table.iloc[0]["color"])


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--stones", required=True)
    parser.add_argument("--cut", required=True)
    parser.add_argument("--top", required=True, type=int)
    args = parser.parse_args(argv)
    frame = pd.read_csv(args.stones).query("cut == @args.cut")
    base = "/var/outputs"
    most_expensive(frame, args.top).to_csv(os.path.join(base, "top_stones"), index=False)
    for name, value in {"n": frame.shape[0], "best_color": best_color(frame)}.items():
        with open(os.path.join(base, name), "w") as f:
            f.write(str(value))


if __name__ == "__main__":
    main()
