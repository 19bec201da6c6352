import argparse
from pathlib import Path

import pandas as pd

OUTPUTS = Path("/var/outputs")


def load(path):
    return pd.read_csv(path, na_values=["NA"])


def summarise(penguins):
    rows = []
    for species, group in penguins.groupby("species"):
        mass = group["body_mass_g"].dropna()
        sex = group["sex"].dropna()
        rows.append(
            {
                "species": species,
                "penguins": len(group),
                "weighed": len(mass),
                "mean_mass_kg": mass.mean() / 1000 if len(mass) else None,
                "female_share": (sex == "female").mean() if len(sex) else None,
            }
        )
    table = pd.DataFrame(rows, columns=["species", "penguins", "weighed", "mean_mass_kg", "female_share"])
    return table.sort_values(["mean_mass_kg", "species"], ascending=[False, True], na_position="last")


def heaviest_island(penguins):
    heaviest = penguins["body_mass_g"].max()
    if pd.isna(heaviest):
        return ""
    return penguins.loc[penguins["body_mass_g"] == heaviest, "island"].min()


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--penguins", required=True)
    arguments = parser.parse_args(argv)
    penguins = load(arguments.penguins)
    summarise(penguins).to_csv(OUTPUTS / "summary", index=False)
    (OUTPUTS / "heaviest_island").write_text(heaviest_island(penguins))


if __name__ == "__main__":
    main()
