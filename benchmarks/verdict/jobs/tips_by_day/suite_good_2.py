import csv
from pathlib import Path

import pytest

from solution import main

CSV = '''"","total_bill","tip","sex","smoker","day","time","size"
"1",10.00,1.00,"Male","No","Sun","Lunch",2
"2",20.00,4.00,"Male","No","Sun","Dinner",3
"3",30.00,3.00,"Female","Yes","Sat","Dinner",4
"4",40.00,,"Female","Yes","Sat","Dinner",4
"5",25.00,5.33,"Female","Yes","Fri","Dinner",3
"6",25.00,5.00,"Female","Yes","Fri","Dinner",6
'''


@pytest.fixture
def bills(tmp_path):
    path = tmp_path / "bills"
    path.write_text(CSV)
    return path


def table():
    with open("/var/outputs/by_day", newline="") as file:
        return [(row["day"], int(row["bills"]), float(row["mean_tip"])) for row in csv.DictReader(file)]


def rate():
    return float(Path("/var/outputs/tip_rate").read_text())


def test_three_or_more_guests(bills):
    main(["--bills", str(bills), "--min_size", "3"])
    assert rate() == pytest.approx(0.1733, abs=5e-5)  # 17.33 / 100
    assert table() == [("Fri", 2, pytest.approx(5.17, abs=0.011)), ("Sun", 1, 4.0), ("Sat", 1, 3.0)]


def test_everybody(bills):
    main(["--bills", str(bills), "--min_size", "1"])
    assert rate() == pytest.approx(0.1666, abs=6e-5)  # 18.33 / 110
    assert table()[1:] == [("Sat", 1, 3.0), ("Sun", 2, 2.5)]


def test_ties_alphabetical(tmp_path):
    path = tmp_path / "bills"
    path.write_text(CSV.splitlines()[0] + '\n"1",10,2,"Male","No","Sun","Lunch",2\n"2",10,2,"Male","No","Fri","Lunch",2\n')
    main(["--bills", str(path), "--min_size", "2"])
    assert [day for day, _, _ in table()] == ["Fri", "Sun"]
