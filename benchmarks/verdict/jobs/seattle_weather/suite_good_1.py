import csv
from pathlib import Path

import pytest

from solution import main

OUT = Path("/var/outputs")


def run(tmp_path, days, year=2013):
    path = tmp_path / "weather"
    lines = ["date,precipitation,temp_max,temp_min,wind,weather"]
    lines += [f"{day},{rain},{high},0.0,{wind},{kind}" for day, rain, high, wind, kind in days]
    path.write_text("\n".join(lines) + "\n")
    main(["--weather", str(path), "--year", str(year)])
    with (OUT / "months").open(newline="") as file:
        return list(csv.DictReader(file))


def number(name):
    return float((OUT / name).read_text())


def test_rain_in_inches_of_the_year_only(tmp_path):
    run(
        tmp_path,
        [
            ("2012/12/31", 99.0, 5, 1, "rain"),
            ("2013/01/01", 25.4, 5, 1, "rain"),
            ("2013/12/31", 12.7, 5, 1, "rain"),
            ("2014/01/01", 99.0, 5, 1, "rain"),
        ],
    )
    assert number("rain_inches") == pytest.approx(1.5)


def test_longest_dry_run_across_a_month_border(tmp_path):
    days = [
        ("2013/01/29", 0.0, 5, 1, "sun"),
        ("2013/01/30", 0.1, 5, 1, "rain"),
        ("2013/01/31", 0.0, 5, 1, "sun"),
        ("2013/02/01", 0.0, 5, 1, "fog"),
        ("2013/02/02", 0.0, 5, 1, "sun"),
        ("2013/02/03", 3.0, 5, 1, "rain"),
    ]
    run(tmp_path, days)
    assert number("longest_dry") == 3


def test_a_missing_day_ends_a_dry_run(tmp_path):
    days = [("2013/05/01", 0.0, 5, 1, "sun"), ("2013/05/02", 0.0, 5, 1, "sun"), ("2013/05/04", 0.0, 5, 1, "sun")]
    run(tmp_path, days)
    assert number("longest_dry") == 2


def test_warmest_month_by_mean(tmp_path):
    days = [
        ("2013/06/01", 0.0, 40, 1, "sun"),
        ("2013/06/02", 0.0, 10, 1, "sun"),
        ("2013/07/01", 0.0, 26, 1, "sun"),
        ("2013/08/01", 0.0, 26, 1, "sun"),
    ]
    run(tmp_path, days)
    assert number("warmest_month") == 7


def test_months(tmp_path):
    days = [
        ("2013/03/01", 0.0, 5, 2.0, "sun"),
        ("2013/03/02", 1.0, 5, 10.0, "rain"),
        ("2013/03/03", 0.0, 5, 3.0, "drizzle"),
        ("2013/02/01", 2.0, 5, 1.5, "snow"),
    ]
    rows = run(tmp_path, days)
    assert [(int(row["month"]), int(row["days"])) for row in rows] == [(2, 1), (3, 3)]
    assert [float(row["max_wind_kmh"]) for row in rows] == pytest.approx([5.4, 36.0])
    assert [float(row["rainy_share"]) for row in rows] == pytest.approx([0.0, 0.667])


def test_a_year_without_days(tmp_path):
    assert run(tmp_path, [("2012/03/01", 1.0, 5, 2.0, "rain")]) == []
    assert number("rain_inches") == 0
    assert number("longest_dry") == 0
    assert number("warmest_month") == 0
