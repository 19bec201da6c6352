import csv
from datetime import datetime, timezone
from pathlib import Path

import pytest

from solution import main


def run(tmp_path, *rows, min_weeks=1):
    path = tmp_path / "readings"
    path.write_text("date,co2\n" + "".join(f"{day},{value}\n" for day, value in rows))
    main(["--readings", str(path), "--min_weeks", str(min_weeks)])
    with open("/var/outputs/monthly", newline="") as file:
        table = list(csv.DictReader(file))
    peak = datetime.fromisoformat(Path("/var/outputs/peak").read_text().strip().replace("Z", "+00:00"))
    gap = Path("/var/outputs/longest_gap").read_text().strip()
    assert gap.endswith("s")
    return table, peak, float(gap[:-1])


def day(year, month, number):
    return datetime(year, month, number, tzinfo=timezone.utc)


def test_two_months_of_one_year(tmp_path):
    table, peak, gap = run(
        tmp_path, ("19580308", 310.0), ("19580315", 312.0), ("19580405", 317.0), ("19580412", 319.0)
    )
    assert [(row["month"], int(row["weeks"])) for row in table] == [("1958-03", 2), ("1958-04", 2)]
    assert [float(row["mean_ppm"]) for row in table] == pytest.approx([311.0, 318.0])
    assert [float(row["above_year"]) for row in table] == pytest.approx([-3.5, 3.5])
    assert peak == day(1958, 4, 12)
    assert gap == 21 * 86400


def test_months_with_too_few_weeks_count_for_the_year(tmp_path):
    table, _, _ = run(
        tmp_path, ("20030104", 370), ("20030111", 372), ("20030208", 380), ("20031206", 382), min_weeks=2
    )
    (row,) = table
    assert row["month"] == "2003-01"
    assert float(row["above_year"]) == pytest.approx(371 - 376)


def test_readings_that_were_not_measured(tmp_path):
    table, _, gap = run(
        tmp_path, ("19580301", 315), ("19580308", ""), ("19580315", ""), ("19580322", 317), ("19580329", "")
    )
    assert int(table[0]["weeks"]) == 2
    assert float(table[0]["mean_ppm"]) == pytest.approx(316)
    assert gap == 21 * 86400


def test_years_are_apart(tmp_path):
    table, _, _ = run(tmp_path, ("19581206", 310), ("19590103", 320), ("19590110", 322))
    assert [row["month"] for row in table] == ["1958-12", "1959-01"]
    assert [float(row["above_year"]) for row in table] == pytest.approx([0, 0])


def test_unsorted_rows_and_equal_peaks(tmp_path):
    table, peak, gap = run(tmp_path, ("19590103", 320), ("19581227", 320), ("19581206", 311), ("19581213", 312))
    assert [row["month"] for row in table] == ["1958-12", "1959-01"]
    assert peak == day(1958, 12, 27)
    assert gap == 14 * 86400


def test_a_single_reading_has_no_gap(tmp_path):
    assert run(tmp_path, ("19590103", 320))[2] == 0
