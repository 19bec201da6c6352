import csv
from pathlib import Path

import pytest

from solution import main


def run(tmp_path, rows, min_readings=1):
    path = tmp_path / "readings"
    path.write_text("sensor,time,celsius\n" + "".join(f"{s},2024-05-{t},{v}\n" for s, t, v in rows))
    main(["--readings", str(path), "--min_readings", str(min_readings)])
    out = Path("/var/outputs")
    with (out / "hourly").open(newline="") as file:
        table = list(csv.reader(file))
    return table, int((out / "longest_gap").read_text()), (out / "warmest").read_text().strip()


def values(table):
    return [(sensor, hour, int(count), pytest.approx(float(mean))) for sensor, hour, count, mean in table[1:]]


def test_mean_of_an_hour_in_fahrenheit(tmp_path):
    rows = [("a", "01T10:00:00", 10), ("a", "01T10:59:00", 20), ("a", "01T11:00:00", 0)]
    table, gap, warmest = run(tmp_path, rows)
    assert table[0] == ["sensor", "hour", "readings", "fahrenheit"]
    assert values(table) == [("a", "2024-05-01T10:00:00", 2, 59.0), ("a", "2024-05-01T11:00:00", 1, 32.0)]
    assert gap == 59
    assert warmest == "a"


def test_unsorted_input_is_sorted_by_sensor_and_hour(tmp_path):
    rows = [("b", "02T08:00:00", 5), ("a", "02T09:00:00", 10), ("b", "01T08:00:00", 15), ("a", "01T23:00:00", 0)]
    table, gap, warmest = run(tmp_path, rows)
    assert [row[:2] for row in table[1:]] == [
        ["a", "2024-05-01T23:00:00"],
        ["a", "2024-05-02T09:00:00"],
        ["b", "2024-05-01T08:00:00"],
        ["b", "2024-05-02T08:00:00"],
    ]
    assert gap == 24 * 60
    assert warmest == "b"


def test_missing_values_do_not_count_but_end_a_gap(tmp_path):
    rows = [("a", "01T10:00:00", 10), ("a", "01T10:20:00", ""), ("a", "01T10:30:00", 20), ("a", "01T10:50:00", 30)]
    table, gap, warmest = run(tmp_path, rows)
    assert values(table) == [("a", "2024-05-01T10:00:00", 3, 68.0)]
    assert gap == 20
    assert warmest == "a"


def test_hours_with_too_few_readings_are_left_out(tmp_path):
    rows = [("a", "01T10:00:00", 10), ("a", "01T10:30:00", 20), ("a", "01T11:00:00", 10), ("a", "01T11:10:00", "")]
    table, _, _ = run(tmp_path, rows, min_readings=2)
    assert values(table) == [("a", "2024-05-01T10:00:00", 2, 59.0)]


def test_gaps_are_within_a_sensor(tmp_path):
    rows = [("a", "01T10:00:00", 10), ("b", "03T10:00:00", 20)]
    assert run(tmp_path, rows)[1] == 0


def test_the_warmest_of_equals_is_the_first_by_name(tmp_path):
    rows = [("b", "01T10:00:00", 30), ("a", "01T12:00:00", 30), ("c", "01T12:00:00", 29.9)]
    assert run(tmp_path, rows)[2] == "a"
