from pathlib import Path

from solution import main

SENATORS = """\
Name,Political Affiliation at Appointment,Province / Territory,Appointed on the advice of,Term (yyyy.mm.dd),start_date,end_date,reason,diff_days,observed
"Roy, Philippe",Liberal Party of Canada,Alberta,"Laurier, Wilfrid",1906.03.08 - 1911.04.21  (Resignation),1906-03-08 00:00:00,1911-04-21 00:00:00,Resignation,1870,True
"""


def test_one_senator(tmp_path):
    path = tmp_path / "senators"
    path.write_text(SENATORS)
    main(["--senators", str(path), "--on", "1910-01-01"])
    assert Path("/var/outputs/serving").read_text() == "1"
    assert Path("/var/outputs/longest").read_text() == "Philippe Roy"
    lines = Path("/var/outputs/by_province").read_text().splitlines()
    assert lines[0] == "province,terms,ended,mean_days"
    assert lines[1].startswith("Alberta,1,1,1870")
