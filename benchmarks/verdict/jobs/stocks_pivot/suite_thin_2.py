import csv
import json
from pathlib import Path

import pytest

from solution import main


@pytest.fixture
def out(tmp_path):
    path = tmp_path / "stocks"
    path.write_text("symbol,date,price\nA,Jan 1 2000,10.0\nA,Feb 1 2001,15.0\nB,Jan 1 2000,10.0\nB,Feb 1 2001,11.0\n")
    main(["--stocks", str(path)])
    return Path("/var/outputs")


def test_shape_of_closing(out):
    with (out / "closing").open(newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == 3
    assert all(len(row) == 3 for row in rows)


def test_returns_are_positive(out):
    returns = json.loads((out / "returns").read_text())
    assert set(returns) == {"A", "B"}
    assert all(value > 0 for value in returns.values())


def test_winner(out):
    assert (out / "winner").read_text() == "A"
