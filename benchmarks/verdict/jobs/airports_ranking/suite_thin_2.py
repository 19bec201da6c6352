import csv
from pathlib import Path

import pytest

from solution import main

AIRPORTS = """iata,name,city,state,country,latitude,longitude
AAA,One,Town,TX,USA,30.0,-95.0
BBB,Two,Town,NA,USA,31.0,-95.0
CCC,Three,Town,OK,USA,35.0,-97.0
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "airports"
    path.write_text(AIRPORTS)
    return str(path)


def test_states(path):
    main(["--airports", path, "--top", "5", "--lat", "30", "--lon", "-95", "--radius_km", "50"])
    with open("/var/outputs/ranking", newline="") as file:
        assert {row["state"] for row in csv.DictReader(file)} == {"TX", "OK"}
    assert len(Path("/var/outputs/northernmost").read_text()) == 3


def test_everything_is_near_with_a_large_radius(path):
    main(["--airports", path, "--top", "5", "--lat", "30", "--lon", "-95", "--radius_km", "20000"])
    assert int(Path("/var/outputs/nearby").read_text()) == 3
