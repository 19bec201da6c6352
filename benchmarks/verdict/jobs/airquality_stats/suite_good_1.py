import csv
from pathlib import Path

import pytest

from solution import main

OUT = Path("/var/outputs")


def run(tmp_path, days):
    path = tmp_path / "air"
    lines = ['"","Ozone","Solar.R","Wind","Temp","Month","Day"']
    lines += [f'"{n}",{ozone},190,7.4,{temp},{month},{n}' for n, (month, ozone, temp) in enumerate(days, start=1)]
    path.write_text("\n".join(lines) + "\n")
    main(["--air", str(path)])
    with (OUT / "monthly").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["month", "days", "measured", "mean_ozone", "sd_ozone"]
    return rows[1:]


def value(name):
    return float((OUT / name).read_text())


def test_months_ascending_with_sample_deviation(tmp_path):
    rows = run(tmp_path, [(7, 10, 70), (7, 20, 80), (7, 30, 90), (5, 1, 60), (5, 2, 61)])
    assert [row[:3] for row in rows] == [["5", "2", "2"], ["7", "3", "3"]]
    assert [float(row[3]) for row in rows] == pytest.approx([1.5, 20.0])
    assert [float(row[4]) for row in rows] == pytest.approx([0.707, 10.0], abs=1e-3)


def test_missing_ozone(tmp_path):
    rows = run(tmp_path, [(5, "NA", 70), (6, 12, 80), (6, "NA", 75), (7, 10, 60), (7, 14, 90)])
    assert rows[0] == ["5", "1", "0", "", ""]
    assert rows[1][:3] == ["6", "2", "1"]
    assert float(rows[1][3]) == 12
    assert rows[1][4] == ""
    assert rows[2][:3] == ["7", "2", "2"]


def test_correlation_leaves_missing_days_out(tmp_path):
    run(tmp_path, [(5, 1, 10), (5, 2, 20), (5, 3, 30), (5, "NA", 500)])
    assert value("correlation") == pytest.approx(1.0)


def test_correlation_by_hand(tmp_path):
    # x = 1, 2, 3; y = 3, 1, 2: covariance -1 over sqrt(2 * 2)
    run(tmp_path, [(5, 1, 3), (5, 2, 1), (6, 3, 2)])
    assert value("correlation") == pytest.approx(-0.5)


def test_high_days_are_above_the_interpolated_percentile(tmp_path):
    # Ranks 0 to 4: the 90th percentile is at 3.6, between 40 and 50: 46.
    run(tmp_path, [(5, ozone, 60 + ozone) for ozone in (10, 20, 30, 40, 50)])
    assert value("high_days") == 1


def test_days_at_the_percentile_are_not_high(tmp_path):
    # Eleven values: the percentile is the tenth, 100, which occurs twice.
    ozone = [10, 20, 30, 40, 50, 60, 70, 80, 100, 100, 120]
    run(tmp_path, [(5, each, 60 + each) for each in ozone])
    assert value("high_days") == 1
