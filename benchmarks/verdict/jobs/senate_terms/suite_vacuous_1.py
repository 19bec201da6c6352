import csv
from pathlib import Path

from solution import main

ROWS = """Name,Political Affiliation at Appointment,Province / Territory,Appointed on the advice of,Term (yyyy.mm.dd),start_date,end_date,reason,diff_days,observed
"Abbott, John",,Quebec,,,1887-05-12 00:00:00,1893-10-30 00:00:00,Death,2363,True
"Ataullahjan, Salma",,Ontario,,,2010-07-09 00:00:00,2013-10-01 22:20:10.165196,,1180,False
"""


def outputs(tmp_path, on="1990-01-01"):
    path = tmp_path / "senators"
    path.write_text(ROWS)
    main(["--senators", str(path), "--on", on])
    return Path("/var/outputs")


def test_table_can_be_read(tmp_path):
    with (outputs(tmp_path) / "by_province").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert all(row["province"] for row in rows)


def test_serving_is_not_negative(tmp_path):
    assert int((outputs(tmp_path, "2011-01-01") / "serving").read_text()) >= 0


def test_longest_has_no_comma(tmp_path):
    assert "," not in (outputs(tmp_path) / "longest").read_text()
