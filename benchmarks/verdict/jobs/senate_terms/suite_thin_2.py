import csv
from pathlib import Path

import pytest

from solution import main

HEADER = (
    "Name,Political Affiliation at Appointment,Province / Territory,Appointed on the advice of,Term (yyyy.mm.dd),"
    "start_date,end_date,reason,diff_days,observed\n"
)


@pytest.fixture
def outputs(tmp_path):
    path = tmp_path / "senators"
    path.write_text(
        HEADER
        + '"Abbott, John",,Quebec,,,1887-05-12 00:00:00,1893-10-30 00:00:00,Death,2363,True\n'
        + '"Adams, Michael",,New Brunswick,,,1896-01-07 00:00:00,1899-01-01 00:00:00,Death,1090,True\n'
        + '"Adams, Willie",,Quebec,,,1977-04-05 00:00:00,2009-06-22 00:00:00,Retirement,11766,True\n'
    )
    main(["--senators", str(path), "--on", "1890-01-01"])
    return Path("/var/outputs")


def test_terms_by_province(outputs):
    with open(outputs / "by_province", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["province"]: int(row["terms"]) for row in rows} == {"Quebec": 2, "New Brunswick": 1}


def test_one_is_serving(outputs):
    assert int((outputs / "serving").read_text()) == 1


def test_longest_is_turned_round(outputs):
    assert (outputs / "longest").read_text().endswith("Adams")
