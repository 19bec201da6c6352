import csv
import re
from pathlib import Path

import pytest

from solution import main


@pytest.fixture
def months(tmp_path):
    path = tmp_path / "readings"
    rows = ["19580405,317.3", "19580412,317.6", "19580503,317.5", "19580510,", "19580517,317.9", "19580607,318"]
    path.write_text("\n".join(["date,co2", *rows]) + "\n")
    main(["--readings", str(path), "--min_weeks", "2"])
    with open("/var/outputs/monthly", newline="") as file:
        return list(csv.DictReader(file))


def test_listed_months(months):
    assert [row["month"] for row in months] == ["1958-04", "1958-05"]


def test_weeks(months):
    assert [row["weeks"] for row in months] == ["2", "2"]


def test_means_lie_between_the_readings(months):
    assert all(317 <= float(row["mean_ppm"]) <= 318 for row in months)


def test_peak_and_gap_look_right(months):
    assert re.fullmatch(r"1958-\d\d-\d\dT00:00:00Z", Path("/var/outputs/peak").read_text())
    assert re.fullmatch(r"\d+s", Path("/var/outputs/longest_gap").read_text())
