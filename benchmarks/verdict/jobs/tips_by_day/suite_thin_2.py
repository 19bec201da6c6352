import csv
from pathlib import Path

import pytest

from solution import main

HEADER = '"","total_bill","tip","sex","smoker","day","time","size"\n'


@pytest.fixture
def bills(tmp_path):
    path = tmp_path / "bills"
    path.write_text(HEADER + '"1",20.0,3.0,"Male","No","Sun","Dinner",4\n"2",10.0,1.5,"Male","No","Sat","Dinner",4\n')
    return path


def test_every_day_has_a_row(bills):
    main(["--bills", str(bills), "--min_size", "2"])
    with open("/var/outputs/by_day", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2
    assert {row["day"] for row in rows} == {"Sun", "Sat"}
    assert all(int(row["bills"]) == 1 for row in rows)


def test_rate_is_between_zero_and_one(bills):
    main(["--bills", str(bills), "--min_size", "2"])
    assert 0 <= float(Path("/var/outputs/tip_rate").read_text()) <= 1
