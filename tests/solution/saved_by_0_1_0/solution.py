"""Rainy days and a summary by month from daily weather."""

from __future__ import annotations

import argparse

import pandas as pd

OUTPUTS = "/var/outputs"


def read_days(path: str) -> pd.DataFrame:
    """One row a day; a missing column is an error that names it."""
    days = pd.read_csv(path, parse_dates=["date"])
    missing = {"date", "precipitation", "temp_max", "temp_min"} - set(days.columns)
    if missing:
        raise ValueError(f"{path}: missing columns {sorted(missing)}")
    return days


def count_rainy_days(days: pd.DataFrame) -> int:
    """Days with at least 1 mm of precipitation."""
    return int((days["precipitation"] >= 1.0).sum())


def summarise_months(days: pd.DataFrame) -> pd.DataFrame:
    """One row a month, in order of time."""
    daily = pd.DataFrame(
        {
            "month": days["date"].dt.strftime("%Y-%m"),
            "mean_temp": (days["temp_max"] + days["temp_min"]) / 2,
            "precipitation": days["precipitation"],
        }
    )
    months = daily.groupby("month", as_index=False).agg({"mean_temp": "mean", "precipitation": "sum"})
    return months.round(1)


def main(argv: list[str] | None = None) -> None:
    """Read the weather, write both outputs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--weather", required=True)
    days = read_days(parser.parse_args(argv).weather)
    with open(f"{OUTPUTS}/rainy_days", "w") as file:
        file.write(str(count_rainy_days(days)))
    summarise_months(days).to_csv(f"{OUTPUTS}/monthly", index=False)


if __name__ == "__main__":
    main()
