import csv
import json
from pathlib import Path

import pytest

from solution import main


@pytest.fixture
def out(tmp_path):
    path = tmp_path / "stocks"
    path.write_text("symbol,date,price\nA,Jan 1 2000,10.0\nB,Feb 1 2001,15.0\n")
    main(["--stocks", str(path)])
    return Path("/var/outputs")


def test_closing_is_csv(out):
    with (out / "closing").open(newline="") as file:
        header, *rows = list(csv.reader(file))
    assert header
    assert rows


def test_returns_is_json(out):
    returns = json.loads((out / "returns").read_text())
    assert isinstance(returns, dict)
    assert all(isinstance(value, float) for value in returns.values())


def test_winner_is_text(out):
    assert isinstance((out / "winner").read_text(), str)
