import json
from pathlib import Path

from solution import main


def test_gain_of_one_country(tmp_path):
    path = tmp_path / "countries"
    path.write_text(
        "country,continent,year,lifeExp,pop,gdpPercap\n"
        "Chad,Africa,1952,38,2682462,1178.6\n"
        "Chad,Africa,2007,50.5,10238807,1704.1\n"
    )
    main(["--countries", str(path), "--since", "1950"])
    gains = json.loads(Path("/var/outputs/gains").read_text())
    assert gains == {"Africa": {"countries": 1, "mean_gain": 12.5, "best": "Chad", "best_gain": 12.5}}
    assert Path("/var/outputs/declined").read_text() == "0"
