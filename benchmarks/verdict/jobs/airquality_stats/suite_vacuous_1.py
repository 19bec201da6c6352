import csv
import math
from pathlib import Path

import pytest

from solution import main

AIR = '''"","Ozone","Solar.R","Wind","Temp","Month","Day"
"1",41,190,7.4,67,5,1
"2",36,118,8,72,5,2
"3",12,149,12.6,74,6,3
'''


@pytest.fixture(autouse=True)
def run(tmp_path):
    path = tmp_path / "air"
    path.write_text(AIR)
    main(["--air", str(path)])


def test_monthly_has_rows():
    with open("/var/outputs/monthly", newline="") as file:
        assert len(list(csv.DictReader(file))) >= 1


def test_correlation_is_finite():
    assert math.isfinite(float(Path("/var/outputs/correlation").read_text()))


def test_high_days_is_a_count():
    assert int(Path("/var/outputs/high_days").read_text()) >= 0
