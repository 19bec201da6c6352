import csv
from pathlib import Path

import pytest

from solution import main

WEATHER = """date,precipitation,temp_max,temp_min,wind,weather
2013/01/01,0.0,10.0,2.0,3.0,sun
2013/02/01,5.0,12.0,2.0,3.5,rain
"""


@pytest.fixture
def out(tmp_path):
    path = tmp_path / "weather"
    path.write_text(WEATHER)
    main(["--weather", str(path), "--year", "2013"])
    return Path("/var/outputs")


@pytest.mark.parametrize("name", ["rain_inches", "longest_dry", "warmest_month"])
def test_numbers(out, name):
    assert float((out / name).read_text()) >= 0


def test_months(out):
    with (out / "months").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(set(row) == {"month", "days", "max_wind_kmh", "rainy_share"} for row in rows)
