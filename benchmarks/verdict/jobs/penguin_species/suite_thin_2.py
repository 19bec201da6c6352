import csv
from pathlib import Path

import pytest

from solution import main

HEADER = "species,island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year\n"


@pytest.fixture
def summary(tmp_path):
    path = tmp_path / "penguins"
    path.write_text(
        HEADER
        + "Adelie,Torgersen,39.1,18.7,181,3750,male,2007\n"
        + "Adelie,Torgersen,39.5,17.4,186,3800,female,2007\n"
        + "Gentoo,Biscoe,50,16.3,230,5700,male,2007\n"
    )
    main(["--penguins", str(path)])
    with open("/var/outputs/summary", newline="") as file:
        return list(csv.DictReader(file))


def test_counts(summary):
    counts = {row["species"]: int(row["penguins"]) for row in summary}
    assert counts == {"Adelie": 2, "Gentoo": 1}


def test_weighed_is_at_most_the_count(summary):
    assert all(int(row["weighed"]) <= int(row["penguins"]) for row in summary)


def test_island_is_known(summary):
    assert Path("/var/outputs/heaviest_island").read_text() in ("Torgersen", "Biscoe", "Dream")
