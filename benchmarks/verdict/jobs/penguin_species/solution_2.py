import argparse
import csv
import math
from pathlib import Path

OUTPUTS = Path("/var/outputs")


def known(value):
    return value is not None and value.strip() not in ("", "NA")


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def summarise(rows):
    species = {}
    for row in rows:
        entry = species.setdefault(row["species"], {"penguins": 0, "masses": [], "sexes": []})
        entry["penguins"] += 1
        if known(row["body_mass_g"]):
            entry["masses"].append(float(row["body_mass_g"]))
        if known(row["sex"]):
            entry["sexes"].append(row["sex"].strip())
    table = []
    for name, entry in species.items():
        masses, sexes = entry["masses"], entry["sexes"]
        mean = sum(masses) / len(masses) / 1000 if masses else None
        share = sexes.count("female") / len(sexes) if sexes else None
        table.append((name, entry["penguins"], len(masses), mean, share))
    return sorted(table, key=lambda row: (-row[3] if row[3] is not None else math.inf, row[0]))


def heaviest_island(rows):
    weighed = [(-float(row["body_mass_g"]), row["island"]) for row in rows if known(row["body_mass_g"])]
    return min(weighed)[1] if weighed else ""


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--penguins", required=True)
    args = parser.parse_args(argv)
    rows = read(args.penguins)
    with open(OUTPUTS / "summary", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["species", "penguins", "weighed", "mean_mass_kg", "female_share"])
        writer.writerows(summarise(rows))  # None is written as an empty cell
    (OUTPUTS / "heaviest_island").write_text(heaviest_island(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
