import csv
from pathlib import Path

import pytest

from solution import main

AIRPORTS = """iata,name,city,state,country,latitude,longitude
AAA,One,Town,TX,USA,30.0,-95.0
CCC,Three,Town,OK,USA,35.0,-97.0
"""


@pytest.fixture
def out(tmp_path):
    path = tmp_path / "airports"
    path.write_text(AIRPORTS)
    main(["--airports", str(path), "--top", "5", "--lat", "30", "--lon", "-95", "--radius_km", "50"])
    return Path("/var/outputs")


def test_ranking_is_a_table(out):
    with (out / "ranking").open(newline="") as file:
        reader = csv.reader(file)
        assert len(next(reader)) == 3
        for rank, state, airports in reader:
            assert int(rank) >= 1
            assert state
            assert int(airports) >= 1


def test_northernmost_is_not_empty(out):
    assert (out / "northernmost").read_text().strip() != ""


def test_nearby_is_an_integer(out):
    int((out / "nearby").read_text())
