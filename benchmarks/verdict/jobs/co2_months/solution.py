import argparse
from pathlib import Path

import pandas as pd

OUTPUTS = Path("/var/outputs")


def load(path):
    readings = pd.read_csv(path, dtype={"date": str, "co2": float})
    readings["date"] = pd.to_datetime(readings["date"], format="%Y%m%d")
    return readings.dropna(subset=["co2"]).sort_values("date").reset_index(drop=True)


def monthly(readings, min_weeks):
    readings = readings.assign(month=readings["date"].dt.strftime("%Y-%m"), year=readings["date"].dt.year)
    readings["year_mean"] = readings.groupby("year")["co2"].transform("mean")
    table = readings.groupby("month", as_index=False).agg(
        weeks=("co2", "size"), mean_ppm=("co2", "mean"), year_mean=("year_mean", "first")
    )
    table["above_year"] = table["mean_ppm"] - table["year_mean"]
    return table.loc[table["weeks"] >= min_weeks, ["month", "weeks", "mean_ppm", "above_year"]]


def peak(readings):
    return readings.loc[readings["co2"].idxmax(), "date"].strftime("%Y-%m-%dT00:00:00Z")


def longest_gap(readings):
    gaps = readings["date"].diff().dropna()
    return int(gaps.max().total_seconds()) if len(gaps) else 0


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--readings", required=True)
    parser.add_argument("--min_weeks", type=int, required=True)
    args = parser.parse_args(argv)
    readings = load(args.readings)
    if readings.empty:
        raise ValueError("readings: no reading was measured")
    monthly(readings, args.min_weeks).to_csv(OUTPUTS / "monthly", index=False)
    (OUTPUTS / "peak").write_text(peak(readings))
    (OUTPUTS / "longest_gap").write_text(f"{longest_gap(readings)}s")


if __name__ == "__main__":
    main()
