import json
from pathlib import Path

import pytest

from solution import main

TABLE = """country,continent,year,lifeExp,pop,gdpPercap
Angola,Africa,1997,40.5,9875024,2277.1
Angola,Africa,2002,41,10866106,2773.3
Angola,Africa,2007,42.5,12420476,4797.2
Botswana,Africa,2002,46.5,1630347,11003.6
Botswana,Africa,1997,52.5,1536536,8647.1
"Korea, Rep.",Asia,1997,74.5,46173816,15993.5
"Korea, Rep.",Asia,2007,78.5,49044790,23348.1
Fiji,Oceania,2007,70,900000,1000
"""


@pytest.fixture(params=[(1990, 2.0, 52.5), (1998, 1.5, None)])
def result(request, tmp_path):
    since, angola, botswana = request.param
    path = tmp_path / "countries"
    path.write_text(TABLE)
    main(["--countries", str(path), "--since", str(since)])
    return json.loads(Path("/var/outputs/gains").read_text()), angola, botswana


def test_africa(result):
    gains, angola, botswana = result
    assert gains["Africa"]["best"] == "Angola"
    assert gains["Africa"]["best_gain"] == pytest.approx(angola)
    assert gains["Africa"]["countries"] == (1 if botswana is None else 2)
    assert gains["Africa"]["mean_gain"] == pytest.approx(1.5 if botswana is None else (2.0 - 6.0) / 2)


def test_continents(result):
    gains, _, botswana = result
    assert sorted(gains) == (["Africa"] if botswana is None else ["Africa", "Asia"])


def test_declined(result):
    _, _, botswana = result
    assert Path("/var/outputs/declined").read_text().strip() == ("0" if botswana is None else "1")


def test_tie(tmp_path):
    path = tmp_path / "countries"
    lines = ["country,continent,year,lifeExp,pop,gdpPercap", "Oman,Asia,2002,70,1,1", "Oman,Asia,2007,72,1,1"]
    lines += ["Iran,Asia,2002,60,1,1", "Iran,Asia,2007,62,1,1"]
    path.write_text("\n".join(lines) + "\n")
    main(["--countries", str(path), "--since", "2002"])
    assert json.loads(Path("/var/outputs/gains").read_text())["Asia"]["best"] == "Iran"
