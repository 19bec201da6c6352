import json
from pathlib import Path

import pytest

from solution import main

PATIENTS = """inst,time,status,age,sex,ph.ecog,ph.karno,pat.karno,meal.cal,wt.loss
3.0,306,1,74,1,1.0,90.0,100.0,1175.0,
3.0,455,1,68,1,0.0,90.0,90.0,1225.0,15.0
3.0,1010,0,56,1,0.0,90.0,90.0,,15.0
5.0,210,1,57,2,1.0,90.0,60.0,1150.0,11.0
1.0,883,1,60,2,0.0,100.0,90.0,,0.0
"""


@pytest.fixture(autouse=True)
def estimated(tmp_path):
    (tmp_path / "p").write_text(PATIENTS)
    main(["--patients", str(tmp_path / "p"), "--days", "100"])


def test_survival_before_the_first_death():
    assert float(Path("/var/outputs/survival_at").read_text()) == 1.0


def test_medians_are_observed_times():
    medians = json.loads(Path("/var/outputs/median_days").read_text())
    assert medians["male"] in (306, 455, 1010)
    assert medians["female"] in (210, 883)


def test_no_poor_scores():
    assert Path("/var/outputs/poor_score_deaths").read_text() == "0"
