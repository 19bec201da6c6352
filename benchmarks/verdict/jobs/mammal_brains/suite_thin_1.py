import json
from pathlib import Path

from solution import main


def test_cheetah(tmp_path):
    path = tmp_path / "mammals"
    path.write_text(
        '"name","genus","vore","order","conservation","sleep_total","sleep_rem","sleep_cycle","awake","brainwt","bodywt"\n'
        '"Cheetah","Acinonyx","carni","Carnivora","lc",12,3,NA,12,0.5,50\n'
    )
    main(["--mammals", str(path), "--k", "1"])
    assert json.loads(Path("/var/outputs/diets").read_text()) == [
        {"diet": "carni", "mammals": 1, "median_sleep_h": 12.0, "rem_percent": 25.0}
    ]
    assert Path("/var/outputs/brainiest").read_text() == "Cheetah"
    assert Path("/var/outputs/day_sleeper").read_text() == "false"
