import csv
import json
from pathlib import Path

from solution import main

TEXT = """id,account,booked,kind,amount
1,A,2024-01-01,credit,10.00
2,B,2024-01-01,debit,15.00
3,A,2024-01-02,debit,5.00
"""


def run(tmp_path):
    path = tmp_path / "transactions"
    path.write_text(TEXT)
    main(["--transactions", str(path), "--limit", "0"])


def test_statement_has_all_transactions(tmp_path):
    run(tmp_path)
    with open("/var/outputs/statement", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["1", "2", "3"]


def test_accounts(tmp_path):
    run(tmp_path)
    assert set(json.loads(Path("/var/outputs/final").read_text())) == {"A", "B"}
    assert int(Path("/var/outputs/overdrawn").read_text()) == 1
    assert Path("/var/outputs/busiest_day").read_text().startswith("2024-01-0")
