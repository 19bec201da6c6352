import json
from pathlib import Path

from solution import main

ROWS = [
    "Chad,Africa,1997,51.5,7562011,1005",
    "Chad,Africa,2007,50.5,10238807,1704",
    "Peru,Americas,1997,68.5,24748122,5838",
    "Peru,Americas,2007,71.5,28674757,7408",
    "Cuba,Americas,1997,76.0,10983007,5431",
    "Cuba,Americas,2007,78.0,11416987,8948",
]


def run(tmp_path):
    path = tmp_path / "countries"
    path.write_text("\n".join(["country,continent,year,lifeExp,pop,gdpPercap", *ROWS]) + "\n")
    main(["--countries", str(path), "--since", "1990"])
    return json.loads(Path("/var/outputs/gains").read_text())


def test_continents_and_their_best(tmp_path):
    gains = run(tmp_path)
    assert {continent: entry["best"] for continent, entry in gains.items()} == {"Africa": "Chad", "Americas": "Peru"}


def test_best_is_at_least_the_mean(tmp_path):
    for entry in run(tmp_path).values():
        assert entry["best_gain"] >= entry["mean_gain"]


def test_declined_is_a_count(tmp_path):
    run(tmp_path)
    assert int(Path("/var/outputs/declined").read_text()) in (0, 1, 2, 3)
