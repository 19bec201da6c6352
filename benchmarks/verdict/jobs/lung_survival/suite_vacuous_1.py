import json
from pathlib import Path

from solution import main

LINES = [
    "inst,time,status,age,sex,ph.ecog,ph.karno,pat.karno,meal.cal,wt.loss",
    "3.0,306,1,74,1,1.0,90.0,100.0,1175.0,",
    "3.0,455,1,68,2,2.0,90.0,90.0,1225.0,15.0",
    "3.0,1010,0,56,1,,90.0,90.0,,15.0",
]


def run(tmp_path, days):
    path = tmp_path / "patients"
    path.write_text("\n".join(LINES) + "\n")
    main(["--patients", str(path), "--days", str(days)])
    return json.loads(Path("/var/outputs/median_days").read_text())


def test_medians_have_both_keys(tmp_path):
    assert set(run(tmp_path, 365)) == {"male", "female"}


def test_survival_is_a_probability(tmp_path):
    run(tmp_path, 365)
    assert 0 <= float(Path("/var/outputs/survival_at").read_text()) <= 1


def test_deaths_are_counted(tmp_path):
    run(tmp_path, 1)
    assert int(Path("/var/outputs/poor_score_deaths").read_text()) >= 0
