from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--penguins", type=Path, required=True)
    path = parser.parse_args(argv).penguins
    frame = pd.read_csv(path)

    frame["is_female"] = frame["sex"].eq("female").astype(float).where(frame["sex"].notna())
    summary = (
        frame.groupby("species")
        .agg(
            penguins=("year", "size"),
            weighed=("body_mass_g", "count"),
            mean_mass_kg=("body_mass_g", "mean"),
            female_share=("is_female", "mean"),
        )
        .reset_index()
        .sort_values("species")
        .sort_values("mean_mass_kg", ascending=False, kind="stable", na_position="last")
    )
    summary["mean_mass_kg"] /= 1000
    out = Path("/var/outputs")
    summary.to_csv(out / "summary", index=False)

    weighed = frame.dropna(subset=["body_mass_g"])
    island = ""
    if not weighed.empty:
        island = weighed.sort_values(["body_mass_g", "island"], ascending=[False, True])["island"].iloc[0]
    (out / "heaviest_island").write_text(island)


if __name__ == "__main__":
    main()
