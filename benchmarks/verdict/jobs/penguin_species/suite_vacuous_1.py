import csv
from pathlib import Path

from solution import main

DATA = """species,island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year
Adelie,Torgersen,39.1,18.7,181,3750,male,2007
Gentoo,Biscoe,50,16.3,230,5700,male,2007
"""
COLUMNS = {"species", "penguins", "weighed", "mean_mass_kg", "female_share"}


def run(tmp_path):
    path = tmp_path / "penguins"
    path.write_text(DATA)
    main(["--penguins", str(path)])


def test_summary_has_the_columns(tmp_path):
    run(tmp_path)
    with open("/var/outputs/summary", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert set(rows[0]) == COLUMNS


def test_masses_are_positive(tmp_path):
    run(tmp_path)
    with open("/var/outputs/summary", newline="") as file:
        for row in csv.DictReader(file):
            assert float(row["mean_mass_kg"]) > 0


def test_island_is_text(tmp_path):
    run(tmp_path)
    assert len(Path("/var/outputs/heaviest_island").read_text()) > 0
