import csv
from pathlib import Path

import pytest

from solution import main

HEADER = "species,island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year"


def run(tmp_path, *rows):
    path = tmp_path / "penguins"
    lines = [f"{species},{island},39.1,18.7,181,{mass},{sex},2007" for species, island, mass, sex in rows]
    path.write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
    main(["--penguins", str(path)])
    with open("/var/outputs/summary", newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    return table, Path("/var/outputs/heaviest_island").read_text().strip()


def test_two_species(tmp_path):
    table, island = run(
        tmp_path,
        ("Adelie", "Dream", 3000, "male"),
        ("Adelie", "Torgersen", 4000, "female"),
        ("Gentoo", "Biscoe", 5000, "female"),
    )
    assert [row["species"] for row in table] == ["Gentoo", "Adelie"]
    assert [int(row["penguins"]) for row in table] == [1, 2]
    assert [float(row["mean_mass_kg"]) for row in table] == pytest.approx([5.0, 3.5])
    assert [float(row["female_share"]) for row in table] == pytest.approx([1.0, 0.5])
    assert island == "Biscoe"


def test_missing_values_do_not_count(tmp_path):
    table, _ = run(
        tmp_path,
        ("Adelie", "Dream", "NA", "NA"),
        ("Adelie", "Dream", 3000, "male"),
        ("Adelie", "Dream", 3300, "female"),
        ("Adelie", "Dream", 3900, "NA"),
    )
    (row,) = table
    assert (int(row["penguins"]), int(row["weighed"])) == (4, 3)
    assert float(row["mean_mass_kg"]) == pytest.approx(3.4)
    assert float(row["female_share"]) == pytest.approx(0.5)


def test_species_that_was_never_weighed_comes_last(tmp_path):
    table, _ = run(
        tmp_path,
        ("Adelie", "Dream", "NA", "NA"),
        ("Gentoo", "Biscoe", 5000, "male"),
    )
    assert [row["species"] for row in table] == ["Gentoo", "Adelie"]
    assert table[1]["mean_mass_kg"] == "" and table[1]["female_share"] == ""
    assert int(table[1]["weighed"]) == 0


def test_equal_means_by_name(tmp_path):
    table, island = run(
        tmp_path,
        ("Gentoo", "Torgersen", 4000, "male"),
        ("Chinstrap", "Dream", 4000, "male"),
        ("Adelie", "Torgersen", 3900, "male"),
    )
    assert [row["species"] for row in table] == ["Chinstrap", "Gentoo", "Adelie"]
    assert island == "Dream"


def test_nobody_weighed(tmp_path):
    table, island = run(tmp_path, ("Gentoo", "Biscoe", "NA", "male"))
    assert island == ""
    assert table[0]["mean_mass_kg"] == ""
