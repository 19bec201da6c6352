import json
from pathlib import Path

import pytest

from solution import main


def test_single_car(tmp_path):
    path = tmp_path / "cars"
    path.write_text(
        json.dumps(
            [
                {
                    "Name": "toyota corolla",
                    "Miles_per_Gallon": 31,
                    "Cylinders": 4,
                    "Displacement": 71,
                    "Horsepower": 65,
                    "Weight_in_lbs": 1773,
                    "Acceleration": 19,
                    "Year": "1976-01-01",
                    "Origin": "Japan",
                }
            ]
        )
    )
    main(["--cars", str(path), "--year_from", "1975"])
    line = json.loads(Path("/var/outputs/by_origin").read_text())
    assert line["origin"] == "Japan"
    assert line["cars"] == 1
    assert line["median_l_per_100km"] == pytest.approx(7.5876, abs=0.001)
    assert Path("/var/outputs/unusable").read_text() == "0"
    assert Path("/var/outputs/thriftiest").read_text() == "toyota corolla"
