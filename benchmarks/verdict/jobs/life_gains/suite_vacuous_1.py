import json
from pathlib import Path

import pytest

from solution import main


@pytest.fixture
def gains(tmp_path):
    path = tmp_path / "countries"
    path.write_text(
        "country,continent,year,lifeExp,pop,gdpPercap\n"
        "Chad,Africa,1997,51.5,7562011,1005\n"
        "Chad,Africa,2007,50.5,10238807,1704\n"
        "Peru,Americas,1997,68.5,24748122,5838\n"
        "Peru,Americas,2007,71.5,28674757,7408\n"
    )
    main(["--countries", str(path), "--since", "1990"])
    return json.loads(Path("/var/outputs/gains").read_text())


def test_gains_is_an_object(gains):
    assert isinstance(gains, dict)
    assert gains


def test_entries_have_their_keys(gains):
    for entry in gains.values():
        assert set(entry) == {"countries", "mean_gain", "best", "best_gain"}
        assert isinstance(entry["best"], str)
        assert isinstance(entry["mean_gain"], (int, float))


def test_declined_is_written(gains):
    assert int(Path("/var/outputs/declined").read_text()) >= 0
