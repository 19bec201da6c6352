import csv
import json
from pathlib import Path

import pytest

from solution import main

POUNDS = 0.45359237


def run(tmp_path, text, window=2):
    path = tmp_path / "meat"
    path.write_text(text)
    main(["--meat", str(path), "--window", str(window)])
    with open("/var/outputs/yearly", newline="") as file:
        reader = csv.DictReader(file)
        assert reader.fieldnames == ["year", "kind", "months", "kilotonnes"]
        rows = [(int(row["year"]), row["kind"], int(row["months"]), float(row["kilotonnes"])) for row in reader]
    trend = json.loads(Path("/var/outputs/trend").read_text())
    return rows, trend, Path("/var/outputs/overtaken").read_text().strip()


def test_years_kinds_and_units(tmp_path):
    rows, trend, overtaken = run(
        tmp_path,
        "date,beef,broilers,veal\n1944-01-01,700,,80\n1944-02-01,800,,90\n1945-01-01,100,300,\n1945-02-01,200,500,\n",
    )
    assert rows == [
        (1944, "beef", 2, pytest.approx(1500 * POUNDS)),
        (1944, "veal", 2, pytest.approx(170 * POUNDS)),
        (1945, "broilers", 2, pytest.approx(800 * POUNDS)),
        (1945, "beef", 2, pytest.approx(300 * POUNDS)),
    ]
    assert trend == {"beef": 150, "broilers": 400, "veal": 85}
    assert overtaken == "1945-01"


def test_rows_in_any_order(tmp_path):
    rows, trend, overtaken = run(
        tmp_path,
        "date,beef,broilers\n1991-03-01,10,40\n1990-05-01,20,30\n1991-01-01,60,70\n1990-04-01,50,10\n",
    )
    assert [row[0] for row in rows] == [1990, 1990, 1991, 1991]
    assert trend == {"beef": 35, "broilers": 55}
    assert overtaken == "1990-05"


def test_gaps_are_skipped_in_the_trend(tmp_path):
    _, trend, _ = run(
        tmp_path,
        "date,beef,broilers,turkey\n1990-01-01,1,10,\n1990-02-01,2,20,\n1990-03-01,6,,5\n1990-04-01,,60,\n",
        window=3,
    )
    assert trend == {"beef": 3, "broilers": 30}


def test_equal_sums_by_kind(tmp_path):
    rows, _, overtaken = run(tmp_path, "date,veal,broilers,beef\n1990-01-01,5,5,5\n1990-02-01,5,5,5\n")
    assert [row[1] for row in rows] == ["beef", "broilers", "veal"]
    assert overtaken == ""
