import json
from pathlib import Path

from solution import main


def test_two_patients_who_died(tmp_path):
    path = tmp_path / "patients"
    path.write_text(
        "inst,time,status,age,sex,ph.ecog,ph.karno,pat.karno,meal.cal,wt.loss\n"
        "3.0,300,1,74,1,2.0,90.0,100.0,1175.0,\n"
        "3.0,400,1,68,2,0.0,90.0,90.0,1225.0,15.0\n"
    )
    main(["--patients", str(path), "--days", "365"])
    assert json.loads(Path("/var/outputs/median_days").read_text()) == {"male": 300, "female": 400}
    assert float(Path("/var/outputs/survival_at").read_text()) == 0.5
    assert Path("/var/outputs/poor_score_deaths").read_text() == "1"
