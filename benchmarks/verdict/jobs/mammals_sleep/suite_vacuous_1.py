import csv
from pathlib import Path

from solution import main

MAMMALS = '''"","name","genus","vore","order","conservation","sleep_total","sleep_rem","sleep_cycle","awake","brainwt","bodywt"
"1","Cow","Bos","herbi","Artiodactyla","domesticated",4,0.7,0.66,20,0.423,600
"2","Cheetah","Acinonyx","carni","Carnivora","lc",12.1,NA,NA,11.9,NA,50
'''


def outputs(tmp_path):
    path = tmp_path / "mammals"
    path.write_text(MAMMALS)
    main(["--mammals", str(path)])
    return Path("/var/outputs")


def test_all_outputs_are_there(tmp_path):
    out = outputs(tmp_path)
    for name in ("rem_share", "by_vore", "smartest", "unknown_brains"):
        assert (out / name).exists(), name


def test_types(tmp_path):
    out = outputs(tmp_path)
    assert type(float((out / "rem_share").read_text())) is float
    assert type(int((out / "unknown_brains").read_text())) is int
    assert len((out / "smartest").read_text()) > 0


def test_table(tmp_path):
    with (outputs(tmp_path) / "by_vore").open(newline="") as file:
        assert len(list(csv.reader(file))) > 1
