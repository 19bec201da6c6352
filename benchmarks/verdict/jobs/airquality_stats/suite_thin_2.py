import csv
from pathlib import Path

from solution import main

AIR = '''"","Ozone","Solar.R","Wind","Temp","Month","Day"
"1",41,190,7.4,67,5,1
"2",36,118,8,72,5,2
"3",12,149,12.6,74,6,3
"4",NA,149,12.6,71,6,4
'''


def run(tmp_path):
    path = tmp_path / "air"
    path.write_text(AIR)
    main(["--air", str(path)])


def test_months(tmp_path):
    run(tmp_path)
    with open("/var/outputs/monthly", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["month"], row["days"], row["measured"]) for row in rows] == [("5", "2", "2"), ("6", "2", "1")]


def test_correlation_is_between_minus_one_and_one(tmp_path):
    run(tmp_path)
    assert -1 <= float(Path("/var/outputs/correlation").read_text()) <= 1


def test_one_high_day(tmp_path):
    run(tmp_path)
    assert Path("/var/outputs/high_days").read_text() == "1"
