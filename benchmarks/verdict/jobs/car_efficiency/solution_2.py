import argparse
import json
from pathlib import Path

import pandas as pd

OUTPUTS = Path("/var/outputs")


def load(path):
    columns = ["Name", "Miles_per_Gallon", "Horsepower", "Weight_in_lbs", "Year", "Origin"]
    return pd.DataFrame(json.loads(Path(path).read_text(encoding="utf-8")), columns=columns)


def by_origin(usable):
    figures = pd.DataFrame(
        {
            "origin": usable["Origin"],
            "consumption": 235.214583 / usable["Miles_per_Gallon"].astype(float),
            "power": usable["Horsepower"].astype(float) * 0.7457 / (usable["Weight_in_lbs"] * 0.00045359237),
        }
    )
    return figures.groupby("origin", as_index=False).agg(
        cars=("power", "size"), median_l_per_100km=("consumption", "median"), mean_kw_per_tonne=("power", "mean")
    )


def thriftiest(usable, year_from):
    recent = usable.assign(year=usable["Year"].str[:4].astype(int))
    recent = recent[recent["year"] >= year_from]
    if recent.empty:
        return "none"
    order = ["Miles_per_Gallon", "year", "Name"]
    return recent.sort_values(order, ascending=[False, False, True])["Name"].iloc[0]


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--cars", required=True)
    parser.add_argument("--year_from", type=int, required=True)
    args = parser.parse_args(argv)
    cars = load(args.cars)
    usable = cars.dropna(subset=["Miles_per_Gallon", "Horsepower"])
    by_origin(usable).to_json(OUTPUTS / "by_origin", orient="records", lines=True, double_precision=15)
    (OUTPUTS / "unusable").write_text(str(len(cars) - len(usable)))
    (OUTPUTS / "thriftiest").write_text(thriftiest(usable, args.year_from))


if __name__ == "__main__":
    main()
