import csv
import pathlib

import pytest

from solution import main

OUT = pathlib.Path("/var/outputs")
TABLE = """species,island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year
Gentoo,Biscoe,46.1,13.2,211,4500,female,2007
Gentoo,Biscoe,50,16.3,230,5700,male,2007
Gentoo,Biscoe,NA,NA,NA,NA,NA,2009
Adelie,Torgersen,39.1,18.7,181,3750,male,2007
Adelie,Dream,39.5,17.4,186,3850,female,2007
Adelie,Dream,40.3,18,195,3800,female,2008
Chinstrap,Dream,46.5,17.9,192,3500,NA,2007
Chinstrap,Dream,50,19.5,196,4100,female,2008
"""


class TestSummary:
    @pytest.fixture(autouse=True)
    def outputs(self, tmp_path):
        path = tmp_path / "penguins"
        path.write_text(TABLE)
        main(["--penguins", str(path)])
        with (OUT / "summary").open(newline="") as file:
            self.rows = list(csv.reader(file))

    def test_header(self):
        assert self.rows[0] == ["species", "penguins", "weighed", "mean_mass_kg", "female_share"]

    def test_counts_and_order(self):
        assert [row[:3] for row in self.rows[1:]] == [["Gentoo", "3", "2"], ["Adelie", "3", "3"], ["Chinstrap", "2", "2"]]

    def test_means_in_kilograms(self):
        assert [float(row[3]) for row in self.rows[1:]] == pytest.approx([5.1, 3.8, 3.8])

    def test_shares_of_known_sexes(self):
        assert [float(row[4]) for row in self.rows[1:]] == pytest.approx([0.5, 2 / 3, 1.0])

    def test_island(self):
        assert (OUT / "heaviest_island").read_text() == "Biscoe"


def test_island_of_equal_masses(tmp_path):
    path = tmp_path / "penguins"
    rows = ["Adelie,Torgersen,39,18,181,4000,male,2007", "Gentoo,Dream,39,18,181,4000,male,2007"]
    path.write_text("\n".join([TABLE.splitlines()[0], *rows, ""]))
    main(["--penguins", str(path)])
    assert (OUT / "heaviest_island").read_text() == "Dream"
    assert (OUT / "summary").read_text().split()[1].startswith("Adelie,1,1,4.0,0")
