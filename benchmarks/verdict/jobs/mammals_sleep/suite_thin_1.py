from pathlib import Path

import pytest

from solution import main

MAMMALS = '''"","name","genus","vore","order","conservation","sleep_total","sleep_rem","sleep_cycle","awake","brainwt","bodywt"
"1","Cow","Bos","herbi","Artiodactyla","domesticated",4,0.8,0.66,20,0.423,600
'''


def test_a_cow(tmp_path):
    path = tmp_path / "mammals"
    path.write_text(MAMMALS)
    main(["--mammals", str(path)])
    out = Path("/var/outputs")
    assert float((out / "rem_share").read_text()) == pytest.approx(20.0)
    assert (out / "by_vore").read_text().split()[1].startswith("herbi,1,4")
    assert (out / "smartest").read_text() == "Cow"
    assert (out / "unknown_brains").read_text() == "0"
