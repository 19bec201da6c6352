from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--meat", type=Path, required=True)
    parser.add_argument("--window", type=int, required=True)
    options = parser.parse_args(argv)
    out = Path("/var/outputs")

    wide = pd.read_csv(options.meat, index_col="date").sort_index().astype(float)
    years = wide.index.str[:4].astype(int)
    pieces = []
    for year, months in wide.groupby(years):
        piece = pd.DataFrame({"months": months.count(), "kilotonnes": months.sum() * 0.45359237})
        piece = piece[piece["months"] > 0].rename_axis("kind").reset_index()
        piece = piece.sort_values("kind").sort_values("kilotonnes", ascending=False, kind="stable")
        piece.insert(0, "year", year)
        pieces.append(piece)
    pd.concat(pieces).to_csv(out / "yearly", index=False)

    latest = {kind: wide[kind].dropna().tail(options.window) for kind in wide}
    means = pd.Series({kind: own.mean() for kind, own in latest.items() if len(own) == options.window}, dtype=float)
    (out / "trend").write_text(means.to_json(double_precision=15))
    ahead = wide.index[wide["broilers"] > wide["beef"]]
    (out / "overtaken").write_text(ahead[0][:7] if len(ahead) else "")


if __name__ == "__main__":
    main()
