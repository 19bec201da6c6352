from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

OUTPUTS = Path("/var/outputs")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--readings", required=True)
    parser.add_argument("--min_weeks", type=int, required=True)
    options = parser.parse_args(argv)

    readings = (
        pl.read_csv(options.readings, schema_overrides={"date": pl.String, "co2": pl.Float64})
        .drop_nulls("co2")
        .with_columns(pl.col("date").str.to_date("%Y%m%d"))
        .sort("date")
        .with_columns(month=pl.col("date").dt.strftime("%Y-%m"), year=pl.col("date").dt.year())
    )
    if readings.is_empty():
        raise SystemExit("no measured reading in readings")

    yearly = readings.group_by("year").agg(year_mean=pl.col("co2").mean())
    table = (
        readings.group_by("month", "year")
        .agg(weeks=pl.len(), mean_ppm=pl.col("co2").mean())
        .filter(pl.col("weeks") >= options.min_weeks)
        .join(yearly, on="year")
        .sort("month")
        .select("month", "weeks", "mean_ppm", above_year=pl.col("mean_ppm") - pl.col("year_mean"))
    )
    table.write_csv(OUTPUTS / "monthly")

    peak = readings.sort("co2", "date", descending=[True, False])["date"][0]
    (OUTPUTS / "peak").write_text(f"{peak.isoformat()}T00:00:00Z")
    gap = readings["date"].diff().max()
    (OUTPUTS / "longest_gap").write_text(f"{gap.days * 86400 if gap is not None else 0}s")


if __name__ == "__main__":
    main()
