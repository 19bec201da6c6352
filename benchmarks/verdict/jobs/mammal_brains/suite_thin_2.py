import json
from pathlib import Path

import pytest

from solution import main

MAMMALS = """"name","genus","vore","order","conservation","sleep_total","sleep_rem","sleep_cycle","awake","brainwt","bodywt"
"Owl monkey","Aotus","omni","Primates",NA,17,1.8,NA,7,0.0155,0.48
"Cow","Bos","herbi","Artiodactyla","domesticated",4,0.7,0.67,20,0.423,600
"Dog","Canis","carni","Carnivora","domesticated",10.1,2.9,0.33,13.9,0.07,14
"""


@pytest.fixture
def outputs(tmp_path):
    path = tmp_path / "mammals"
    path.write_text(MAMMALS)
    main(["--mammals", str(path), "--k", "2"])
    folder = Path("/var/outputs")
    return {name: (folder / name).read_text() for name in ("diets", "brainiest", "day_sleeper")}


def test_three_diets(outputs):
    diets = json.loads(outputs["diets"])
    assert [entry["diet"] for entry in diets] == ["omni", "carni", "herbi"]
    assert all(entry["mammals"] == 1 for entry in diets)


def test_two_names(outputs):
    assert outputs["brainiest"].split("; ") == ["Owl monkey", "Dog"]


def test_cows_sleep_little(outputs):
    assert outputs["day_sleeper"] == "false"
