import csv
import json
from pathlib import Path

from solution import main

TEXT = """id,account,booked,kind,amount
10,DE02,2024-02-02,debit,80.10
11,DE01,2024-02-01,credit,50.00
12,DE01,2024-02-02,debit,120.00
13,DE02,2024-02-01,credit,30.10
14,DE01,2024-02-03,credit,200.10
"""


def test_statement(tmp_path):
    path = tmp_path / "transactions"
    path.write_text(TEXT)
    main(["--transactions", str(path), "--limit", "50.0"])
    with open("/var/outputs/statement", newline="") as file:
        rows = [tuple(row.values()) for row in csv.DictReader(file)]
    assert rows == [
        ("11", "DE01", "2024-02-01", "50.00"),
        ("13", "DE02", "2024-02-01", "30.10"),
        ("10", "DE02", "2024-02-02", "-50.00"),
        ("12", "DE01", "2024-02-02", "-70.00"),
        ("14", "DE01", "2024-02-03", "130.10"),
    ]
    assert json.loads(Path("/var/outputs/final").read_text()) == {"DE01": 130.1, "DE02": -50.0}
    assert Path("/var/outputs/overdrawn").read_text() == "1"
    # 200.10 on the 2nd and on the 3rd
    assert Path("/var/outputs/busiest_day").read_text() == "2024-02-02"
