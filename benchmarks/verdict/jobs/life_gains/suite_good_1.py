import json
from pathlib import Path

import pytest

from solution import main


def run(tmp_path, rows, since=1950):
    path = tmp_path / "countries"
    lines = ["country,continent,year,lifeExp,pop,gdpPercap"]
    lines += [f"{country},{continent},{year},{age},1000,500.5" for country, continent, year, age in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    main(["--countries", str(path), "--since", str(since)])
    gains = json.loads(Path("/var/outputs/gains").read_text(encoding="utf-8"))
    return gains, int(Path("/var/outputs/declined").read_text())


def test_gains_of_two_continents(tmp_path):
    gains, declined = run(
        tmp_path,
        [
            ("Chad", "Africa", 1952, 38.0),
            ("Chad", "Africa", 1977, 47.5),
            ("Kenya", "Africa", 1952, 42.0),
            ("Kenya", "Africa", 1977, 56.5),
            ("Peru", "Americas", 1952, 44.0),
            ("Peru", "Americas", 1977, 58.0),
        ],
    )
    assert gains == {
        "Africa": {"countries": 2, "mean_gain": pytest.approx(12.0), "best": "Kenya", "best_gain": pytest.approx(14.5)},
        "Americas": {"countries": 1, "mean_gain": pytest.approx(14.0), "best": "Peru", "best_gain": pytest.approx(14.0)},
    }
    assert declined == 0


def test_since_is_included(tmp_path):
    rows = [("Chad", "Africa", 1957, 40.0), ("Chad", "Africa", 1962, 45.0), ("Chad", "Africa", 1967, 47.0)]
    gains, _ = run(tmp_path, rows, since=1962)
    assert gains["Africa"]["best_gain"] == pytest.approx(2.0)


def test_rows_in_any_order(tmp_path):
    rows = [("Chad", "Africa", 1962, 45.0), ("Chad", "Africa", 1967, 47.0), ("Chad", "Africa", 1957, 40.0)]
    gains, declined = run(tmp_path, rows)
    assert gains["Africa"]["best_gain"] == pytest.approx(7.0)
    assert declined == 0


def test_a_single_year_is_no_gain(tmp_path):
    rows = [("Chad", "Africa", 1962, 45.0), ("Peru", "Americas", 1952, 40.0), ("Peru", "Americas", 1957, 41.0)]
    gains, declined = run(tmp_path, rows)
    assert set(gains) == {"Americas"}
    assert declined == 0


def test_equal_gains_take_the_first_name(tmp_path):
    rows = [(name, "Asia", year, age) for name in ("Japan", "India", "Nepal") for year, age in ((1952, 40), (1957, 45))]
    gains, _ = run(tmp_path, rows)
    assert gains["Asia"]["best"] == "India"
    assert gains["Asia"]["countries"] == 3


def test_declines(tmp_path):
    rows = [
        ("Chad", "Africa", 1952, 50.0),
        ("Chad", "Africa", 2007, 45.0),
        ("Mali", "Africa", 1952, 50.0),
        ("Mali", "Africa", 2007, 50.0),
        ("Iraq", "Asia", 1952, 60.0),
        ("Iraq", "Asia", 2007, 59.0),
    ]
    gains, declined = run(tmp_path, rows)
    assert declined == 2
    assert gains["Africa"] == {
        "countries": 2,
        "mean_gain": pytest.approx(-2.5),
        "best": "Mali",
        "best_gain": pytest.approx(0.0),
    }
