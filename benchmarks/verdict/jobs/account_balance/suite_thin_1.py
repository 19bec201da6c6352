import json
from pathlib import Path

from solution import main


def test_two_credits(tmp_path):
    path = tmp_path / "transactions"
    path.write_text("id,account,booked,kind,amount\n1,A,2024-01-01,credit,10.00\n2,A,2024-01-02,credit,15.00\n")
    main(["--transactions", str(path), "--limit", "0"])
    out = Path("/var/outputs")
    assert (out / "statement").read_text().split() == [
        "id,account,booked,balance",
        "1,A,2024-01-01,10.00",
        "2,A,2024-01-02,25.00",
    ]
    assert json.loads((out / "final").read_text()) == {"A": 25.0}
    assert (out / "overdrawn").read_text() == "0"
    assert (out / "busiest_day").read_text() == "2024-01-02"
