import csv

import pytest
from solution import main

HEADER = "date,precipitation,temp_max,temp_min,wind,weather\n"


def run(tmp_path, *days):
    path = tmp_path / "weather"
    path.write_text(HEADER + "".join(f"{day},2.0,rain\n" for day in days))
    main(["--weather", str(path)])
    with open("/var/outputs/rainy_days") as file:
        rainy_days = int(file.read())
    with open("/var/outputs/monthly") as file:
        return rainy_days, list(csv.DictReader(file))


def test_a_day_with_exactly_one_millimetre_is_rainy(tmp_path):
    rainy_days, _ = run(tmp_path, "2012-01-01,0.9,10.0,4.0", "2012-01-02,1.0,10.0,4.0", "2012-01-03,7.5,10.0,4.0")
    assert rainy_days == 2


def test_dry_days_give_no_rainy_day(tmp_path):
    rainy_days, months = run(tmp_path, "2012-07-01,0.0,25.0,15.0")
    assert rainy_days == 0
    assert float(months[0]["precipitation"]) == 0.0


def test_mean_temp_is_the_mean_of_the_daily_midpoints(tmp_path):
    _, months = run(tmp_path, "2012-01-01,0.0,10.0,4.0", "2012-01-02,0.0,13.0,6.0")
    assert float(months[0]["mean_temp"]) == pytest.approx(8.2, abs=0.051)


def test_the_same_month_of_two_years_is_kept_apart_and_in_order(tmp_path):
    _, months = run(tmp_path, "2013-01-05,2.0,8.0,2.0", "2012-01-05,3.5,6.0,0.0", "2012-01-06,1.5,6.0,0.0")
    assert [month["month"] for month in months] == ["2012-01", "2013-01"]
    assert [float(month["precipitation"]) for month in months] == [5.0, 2.0]


def test_the_summary_has_the_three_columns(tmp_path):
    _, months = run(tmp_path, "2012-01-01,0.0,10.0,4.0")
    assert list(months[0]) == ["month", "mean_temp", "precipitation"]
