import json
from pathlib import Path

import pandas as pd
import pytest

from solution import main

STOCKS = """symbol,date,price
MSFT,Jan 1 2000,40.00
MSFT,Dec 1 2000,20.00
MSFT,Jan 1 2001,30.00
MSFT,Aug 1 2001,28.00
IBM,Jan 1 2000,100.00
IBM,Sep 1 2000,99.99
AMZN,Jan 1 2001,17.00
AMZN,Feb 1 2001,
"""


@pytest.fixture
def closing(tmp_path):
    path = tmp_path / "stocks"
    path.write_text(STOCKS)
    main(["--stocks", str(path)])
    return pd.read_csv("/var/outputs/closing").set_index("year")


def test_columns_and_years(closing):
    assert list(closing.columns) == ["AMZN", "IBM", "MSFT"]
    assert list(closing.index) == [2000, 2001]


def test_cells(closing):
    assert closing.loc[2000, "MSFT"] == 20.0
    assert closing.loc[2001, "MSFT"] == 28.0
    assert closing.loc[2000, "IBM"] == 99.99
    assert closing.loc[2001, "AMZN"] == 17.0
    assert pd.isna(closing.loc[2000, "AMZN"])
    assert pd.isna(closing.loc[2001, "IBM"])


def test_returns(closing):
    returns = json.loads(Path("/var/outputs/returns").read_text())
    assert returns == pytest.approx({"AMZN": 0.0, "IBM": -0.01, "MSFT": -30.0})
    assert Path("/var/outputs/winner").read_text() == "AMZN"
