import csv
from pathlib import Path

from solution import main

MAMMALS = '''"","name","genus","vore","order","conservation","sleep_total","sleep_rem","sleep_cycle","awake","brainwt","bodywt"
"1","Cow","Bos","herbi","Artiodactyla","domesticated",4,0.7,0.66,20,0.423,600
"2","Cheetah","Acinonyx","carni","Carnivora","lc",12.1,NA,NA,11.9,NA,50
"3","Goat","Capri","herbi","Artiodactyla","lc",5.3,0.6,NA,18.7,0.115,33.5
'''


def run(tmp_path):
    path = tmp_path / "mammals"
    path.write_text(MAMMALS)
    main(["--mammals", str(path)])


def test_vores_are_counted(tmp_path):
    run(tmp_path)
    with open("/var/outputs/by_vore", newline="") as file:
        rows = {row["vore"]: int(row["animals"]) for row in csv.DictReader(file)}
    assert rows == {"herbi": 2, "carni": 1}


def test_unknown_brains(tmp_path):
    run(tmp_path)
    assert Path("/var/outputs/unknown_brains").read_text() == "1"


def test_share_is_a_percentage(tmp_path):
    run(tmp_path)
    assert 0 < float(Path("/var/outputs/rem_share").read_text()) < 100
    assert Path("/var/outputs/smartest").read_text() in {"Cow", "Goat"}
