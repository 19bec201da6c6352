import csv
import json
import re
from pathlib import Path

from solution import main

TEXT = "date,beef,veal,broilers\n1960-01-01,1196.0,81.0,301.5\n1961-01-01,226.0,,402.0\n"


def outputs(tmp_path, window=1):
    path = tmp_path / "meat"
    path.write_text(TEXT)
    main(["--meat", str(path), "--window", str(window)])
    return Path("/var/outputs")


def test_yearly_is_not_empty(tmp_path):
    with (outputs(tmp_path) / "yearly").open(newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) > 1
    assert all(len(row) == 4 for row in rows)


def test_trend_holds_numbers(tmp_path):
    trend = json.loads((outputs(tmp_path) / "trend").read_text())
    assert all(isinstance(value, float) and value > 0 for value in trend.values())


def test_overtaken_is_a_month_or_empty(tmp_path):
    assert re.fullmatch(r"(\d{4}-\d\d)?", (outputs(tmp_path, 2) / "overtaken").read_text())
