import csv
from pathlib import Path

from solution import main

WEATHER = """date,precipitation,temp_max,temp_min,wind,weather
2013/01/01,0.0,10.0,2.0,3.0,sun
2013/01/02,0.0,11.0,2.0,4.0,sun
2013/02/01,5.0,12.0,2.0,3.5,rain
"""


def run(tmp_path):
    path = tmp_path / "weather"
    path.write_text(WEATHER)
    main(["--weather", str(path), "--year", "2013"])


def test_two_months(tmp_path):
    run(tmp_path)
    with open("/var/outputs/months", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["month"] for row in rows] == ["1", "2"]
    assert [row["days"] for row in rows] == ["2", "1"]


def test_numbers_are_plausible(tmp_path):
    run(tmp_path)
    assert 0 < float(Path("/var/outputs/rain_inches").read_text()) < 10
    assert int(Path("/var/outputs/longest_dry").read_text()) == 2
    assert 1 <= int(Path("/var/outputs/warmest_month").read_text()) <= 12
