import csv
from pathlib import Path

import pytest

from solution import main

HEADER = '"","total_bill","tip","sex","smoker","day","time","size"\n'


def run(tmp_path, rows, min_size):
    path = tmp_path / "bills"
    lines = [
        f'"{number}",{bill},{tip},"Female","No","{day}","Dinner",{size}'
        for number, (bill, tip, day, size) in enumerate(rows, start=1)
    ]
    path.write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")
    main(["--bills", str(path), "--min_size", str(min_size)])
    rate = float(Path("/var/outputs/tip_rate").read_text())
    with open("/var/outputs/by_day", newline="", encoding="utf-8") as file:
        return rate, list(csv.reader(file))


def test_rate_and_days(tmp_path):
    rows = [(20.0, 3.0, "Sun", 3), (10.0, 1.0, "Sun", 4), (30.0, 6.0, "Sat", 3)]
    rate, table = run(tmp_path, rows, 3)
    assert rate == pytest.approx(10 / 60, abs=1e-4)
    assert table[0] == ["day", "bills", "mean_tip"]
    assert [row[:2] for row in table[1:]] == [["Sat", "1"], ["Sun", "2"]]
    assert [float(row[2]) for row in table[1:]] == pytest.approx([6.0, 2.0])


def test_only_bills_with_enough_guests(tmp_path):
    rows = [(20.0, 5.0, "Sun", 1), (10.0, 1.0, "Sun", 2), (40.0, 2.0, "Fri", 3)]
    rate, table = run(tmp_path, rows, 2)
    assert rate == pytest.approx(0.06)
    assert [(row[0], row[1], float(row[2])) for row in table[1:]] == [("Fri", "1", 2.0), ("Sun", "1", 1.0)]


def test_rows_without_a_tip_are_skipped(tmp_path):
    rows = [(100.0, "", "Sun", 3), (10.0, 2.0, "Sun", 3)]
    rate, table = run(tmp_path, rows, 1)
    assert rate == pytest.approx(0.2)
    assert [(row[0], row[1], float(row[2])) for row in table[1:]] == [("Sun", "1", 2.0)]


def test_equal_means_are_ordered_by_day(tmp_path):
    rows = [(10.0, 2.0, "Thur", 2), (10.0, 2.0, "Fri", 2), (10.0, 1.0, "Sat", 2), (10.0, 3.0, "Sat", 2)]
    _, table = run(tmp_path, rows, 2)
    assert [row[0] for row in table[1:]] == ["Fri", "Sat", "Thur"]


def test_no_bills(tmp_path):
    rate, table = run(tmp_path, [(10.0, 2.0, "Sun", 2)], 5)
    assert rate == 0.0
    assert table == [["day", "bills", "mean_tip"]]
