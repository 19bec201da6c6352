import csv
from pathlib import Path

import pytest

from solution import main


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "generation"
    lines = ["year,source,net_generation"]
    for year, fossil, renewable in [(2010, 42750, 9360), (2011, 39361, 11795), (2012, 37379, 14949)]:
        lines += [f"{year}-01-01,Fossil Fuels,{fossil}", f"{year}-01-01,Renewables,{renewable}"]
    path.write_text("\n".join(lines) + "\n")
    main(["--generation", str(path), "--threshold", "0.2"])
    with open("/var/outputs/shares", newline="") as file:
        return list(csv.DictReader(file))


def test_years(rows):
    assert [row["year"] for row in rows] == ["2010", "2011", "2012"]


def test_share_grows(rows):
    shares = [float(row["renewable_share"]) for row in rows]
    assert shares == sorted(shares)
    assert float(rows[1]["change"]) > 0


def test_first_year_is_one_of_them(rows):
    assert Path("/var/outputs/first_year").read_text() in [row["year"] for row in rows]
