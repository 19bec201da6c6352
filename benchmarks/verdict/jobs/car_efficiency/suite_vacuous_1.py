import json
from pathlib import Path

from solution import main

CAR = {
    "Name": "ford pinto",
    "Miles_per_Gallon": 26.5,
    "Cylinders": 4,
    "Displacement": 140,
    "Horsepower": 72,
    "Weight_in_lbs": 2565,
    "Acceleration": 13.6,
    "Year": "1976-01-01",
    "Origin": "USA",
}
KEYS = {"origin", "cars", "median_l_per_100km", "mean_kw_per_tonne"}


def test_every_line_is_an_object_with_the_keys(tmp_path):
    path = tmp_path / "cars"
    path.write_text(json.dumps([CAR, {**CAR, "Origin": "Japan"}]))
    main(["--cars", str(path), "--year_from", "1970"])
    lines = Path("/var/outputs/by_origin").read_text().strip().splitlines()
    for line in lines:
        assert set(json.loads(line)) == KEYS


def test_scalars_are_readable(tmp_path):
    path = tmp_path / "cars"
    path.write_text(json.dumps([CAR]))
    main(["--cars", str(path), "--year_from", "1970"])
    int(Path("/var/outputs/unusable").read_text())
    assert isinstance(Path("/var/outputs/thriftiest").read_text(), str)


def test_runs_on_missing_values(tmp_path):
    path = tmp_path / "cars"
    path.write_text(json.dumps([{**CAR, "Horsepower": None}]))
    main(["--cars", str(path), "--year_from", "1970"])
    assert Path("/var/outputs/by_origin").exists()
