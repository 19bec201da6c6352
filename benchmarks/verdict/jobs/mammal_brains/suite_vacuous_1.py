import json
from pathlib import Path

from solution import main

HEADER = '"name","genus","vore","order","conservation","sleep_total","sleep_rem","sleep_cycle","awake","brainwt","bodywt"'


def make(tmp_path):
    path = tmp_path / "mammals"
    path.write_text(f'{HEADER}\n"Cow","Bos","herbi","Artiodactyla","domesticated",4,0.7,0.67,20,0.423,600\n')
    return str(path)


def test_diets_is_a_list_of_objects(tmp_path):
    main(["--mammals", make(tmp_path), "--k", "1"])
    diets = json.loads(Path("/var/outputs/diets").read_text())
    assert isinstance(diets, list)
    assert all(isinstance(entry, dict) and "diet" in entry for entry in diets)


def test_hours_are_hours(tmp_path):
    main(["--mammals", make(tmp_path), "--k", "1"])
    for entry in json.loads(Path("/var/outputs/diets").read_text()):
        assert 0 <= entry["median_sleep_h"] <= 24


def test_day_sleeper_is_a_bool(tmp_path):
    main(["--mammals", make(tmp_path), "--k", "5"])
    assert Path("/var/outputs/day_sleeper").read_text() in ("true", "false")
    assert Path("/var/outputs/brainiest").read_text() is not None
