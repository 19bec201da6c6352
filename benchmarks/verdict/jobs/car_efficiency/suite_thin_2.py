import json
from pathlib import Path

import pytest

from solution import main

CARS = [
    {"Name": "vw rabbit", "Miles_per_Gallon": 29, "Horsepower": 70, "Weight_in_lbs": 1937, "Year": "1976-01-01", "Origin": "Europe"},
    {"Name": "ford pinto", "Miles_per_Gallon": 26.5, "Horsepower": 72, "Weight_in_lbs": 2565, "Year": "1976-01-01", "Origin": "USA"},
    {"Name": "ford torino", "Miles_per_Gallon": None, "Horsepower": 153, "Weight_in_lbs": 4034, "Year": "1970-01-01", "Origin": "USA"},
]


@pytest.fixture(autouse=True)
def outputs(tmp_path):
    path = tmp_path / "cars"
    path.write_text(json.dumps(CARS))
    main(["--cars", str(path), "--year_from", "1970"])


def lines():
    return [json.loads(line) for line in Path("/var/outputs/by_origin").read_text().splitlines()]


def test_unusable():
    assert int(Path("/var/outputs/unusable").read_text()) == 1


def test_origins():
    assert {line["origin"]: line["cars"] for line in lines()} == {"Europe": 1, "USA": 1}


def test_figures_are_plausible():
    for line in lines():
        assert 3 < line["median_l_per_100km"] < 30
        assert 10 < line["mean_kw_per_tonne"] < 200


def test_thriftiest_is_a_car():
    assert Path("/var/outputs/thriftiest").read_text() in [car["Name"] for car in CARS]
