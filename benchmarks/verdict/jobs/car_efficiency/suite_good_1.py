import json
from pathlib import Path

import pytest

from solution import main


def car(name="a", mpg=20.0, horsepower=100, weight=2000, year=1976, origin="USA"):
    return {
        "Name": name,
        "Miles_per_Gallon": mpg,
        "Cylinders": 4,
        "Displacement": 120,
        "Horsepower": horsepower,
        "Weight_in_lbs": weight,
        "Acceleration": 15,
        "Year": f"{year}-01-01",
        "Origin": origin,
    }


@pytest.fixture
def run(tmp_path):
    def run(*cars, year_from=1970):
        path = tmp_path / "cars"
        path.write_text(json.dumps(cars))
        main(["--cars", str(path), "--year_from", str(year_from)])
        text = Path("/var/outputs/by_origin").read_text()
        return (
            [json.loads(line) for line in text.splitlines() if line.strip()],
            int(Path("/var/outputs/unusable").read_text()),
            Path("/var/outputs/thriftiest").read_text().strip(),
        )

    return run


def test_origins_in_order(run):
    lines, unusable, _ = run(car(origin="USA"), car(origin="Europe"), car(origin="Japan"), car(origin="USA"))
    assert [(line["origin"], line["cars"]) for line in lines] == [("Europe", 1), ("Japan", 1), ("USA", 2)]
    assert unusable == 0


def test_median_consumption(run):
    # 235.214583 / 10, / 20, / 40
    lines, _, _ = run(car(mpg=10), car(mpg=20), car(mpg=40))
    assert lines[0]["median_l_per_100km"] == pytest.approx(11.76072915)
    lines, _, _ = run(car(mpg=10), car(mpg=20))
    assert lines[0]["median_l_per_100km"] == pytest.approx((23.5214583 + 11.76072915) / 2)


def test_power_to_weight_is_a_mean_of_ratios(run):
    # 100 hp * 0.7457 = 74.57 kW, 1000 lb = 0.45359237 t -> 164.3987; 2000 lb -> 82.19936
    lines, _, _ = run(car(horsepower=100, weight=1000), car(horsepower=100, weight=2000))
    assert lines[0]["mean_kw_per_tonne"] == pytest.approx((164.39870 + 82.19935) / 2, rel=1e-5)


def test_cars_without_a_value_are_unusable(run):
    lines, unusable, thriftiest = run(
        car(name="no mpg", mpg=None),
        car(name="no power", horsepower=None, mpg=50),
        car(name="neither", mpg=None, horsepower=None, origin="Japan"),
        car(name="fine", mpg=20),
    )
    assert [(line["origin"], line["cars"]) for line in lines] == [("USA", 1)]
    assert unusable == 3
    assert thriftiest == "fine"


def test_thriftiest_of_recent_cars(run):
    cars = [car("old", 45, year=1974), car("edge", 30, year=1975), car("new", 29, year=1980)]
    assert run(*cars, year_from=1975)[2] == "edge"
    assert run(*cars, year_from=1981)[2] == "none"


def test_ties_by_year_then_name(run):
    cars = [car("b", 30, year=1976), car("z", 30, year=1979), car("c", 30, year=1979), car("a", 30, year=1978)]
    assert run(*cars)[2] == "c"
