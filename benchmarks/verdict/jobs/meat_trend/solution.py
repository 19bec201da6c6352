import argparse
import json
from pathlib import Path

import pandas as pd

OUTPUTS = Path("/var/outputs")
KILOTONNES_PER_MILLION_POUNDS = 0.45359237


def load(path):
    meat = pd.read_csv(path, parse_dates=["date"])
    return meat.sort_values("date")


def to_long(meat):
    long = meat.melt(id_vars="date", var_name="kind", value_name="figure")
    return long.dropna(subset=["figure"])


def yearly(long):
    year = long["date"].dt.year.rename("year")
    table = long.groupby([year, "kind"])["figure"].agg(months="count", kilotonnes="sum").reset_index()
    table["kilotonnes"] *= KILOTONNES_PER_MILLION_POUNDS
    return table.sort_values(["year", "kilotonnes", "kind"], ascending=[True, False, True])


def trend(long, window):
    result = {}
    for kind, own in long.groupby("kind"):
        figures = own.sort_values("date")["figure"]
        if len(figures) >= window:
            result[kind] = float(figures.tail(window).mean())
    return result


def overtaken(meat):
    months = meat.loc[meat["broilers"] > meat["beef"], "date"]
    return "" if months.empty else months.iloc[0].strftime("%Y-%m")


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--meat", required=True)
    parser.add_argument("--window", type=int, required=True)
    args = parser.parse_args(argv)
    meat = load(args.meat)
    long = to_long(meat)
    yearly(long).to_csv(OUTPUTS / "yearly", index=False)
    (OUTPUTS / "trend").write_text(json.dumps(trend(long, args.window)))
    (OUTPUTS / "overtaken").write_text(overtaken(meat))


if __name__ == "__main__":
    main()
