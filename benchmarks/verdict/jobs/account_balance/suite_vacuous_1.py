import csv
import json
import re
from pathlib import Path

from solution import main

TEXT = "id,account,booked,kind,amount\n1,A,2024-01-01,credit,10.00\n2,B,2024-01-01,debit,15.00\n"


def run(tmp_path):
    path = tmp_path / "transactions"
    path.write_text(TEXT)
    main(["--transactions", str(path), "--limit", "0"])


def test_statement_is_readable(tmp_path):
    run(tmp_path)
    with open("/var/outputs/statement", newline="") as file:
        for row in csv.DictReader(file):
            assert isinstance(float(row["balance"]), float)


def test_final_is_readable(tmp_path):
    run(tmp_path)
    for value in json.loads(Path("/var/outputs/final").read_text()).values():
        assert isinstance(value, (int, float))


def test_scalars_are_readable(tmp_path):
    run(tmp_path)
    assert int(Path("/var/outputs/overdrawn").read_text()) >= 0
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", Path("/var/outputs/busiest_day").read_text())
