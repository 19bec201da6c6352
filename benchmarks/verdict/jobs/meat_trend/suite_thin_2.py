import csv
import json
from pathlib import Path

import pytest

from solution import main


@pytest.fixture
def yearly(tmp_path):
    path = tmp_path / "meat"
    path.write_text(
        "date,beef,veal,pork,broilers\n"
        "1960-01-01,1196.0,81.0,1089.0,301.5\n"
        "1960-02-01,1089.0,75.0,997.0,310.0\n"
        "1961-01-01,1226.0,81.0,956.0,402.0\n"
    )
    main(["--meat", str(path), "--window", "2"])
    with open("/var/outputs/yearly", newline="") as file:
        return list(csv.DictReader(file))


def test_every_year_has_every_kind(yearly):
    assert [(row["year"], row["kind"]) for row in yearly[:2]] == [("1960", "beef"), ("1960", "pork")]
    assert len(yearly) == 8


def test_months(yearly):
    assert {row["year"]: int(row["months"]) for row in yearly} == {"1960": 2, "1961": 1}


def test_trend_is_near_the_figures(yearly):
    trend = json.loads(Path("/var/outputs/trend").read_text())
    assert 1000 < trend["beef"] < 1300
    assert Path("/var/outputs/overtaken").read_text() == ""
