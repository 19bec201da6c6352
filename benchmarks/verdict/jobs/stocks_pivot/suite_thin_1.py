import json
from pathlib import Path

from solution import main


def test_one_symbol(tmp_path):
    path = tmp_path / "stocks"
    path.write_text("symbol,date,price\nA,Jan 1 2000,10.0\nA,Feb 1 2000,15.0\n")
    main(["--stocks", str(path)])
    out = Path("/var/outputs")
    assert (out / "closing").read_text().split() == ["year,A", "2000,15.00"]
    assert json.loads((out / "returns").read_text()) == {"A": 50.0}
    assert (out / "winner").read_text() == "A"
