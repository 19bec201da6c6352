import csv
import json
from pathlib import Path

import pytest

from solution import main

OUT = Path("/var/outputs")


def run(tmp_path, *rows):
    path = tmp_path / "stocks"
    path.write_text("\n".join(["symbol,date,price", *rows]) + "\n")
    main(["--stocks", str(path)])
    with (OUT / "closing").open(newline="") as file:
        table = list(csv.reader(file))
    return table, json.loads((OUT / "returns").read_text()), (OUT / "winner").read_text().strip()


def test_wide_table_with_gaps(tmp_path):
    table, _, _ = run(
        tmp_path,
        "MSFT,Jan 1 2001,10.0",
        "MSFT,Dec 1 2001,12.5",
        "AAPL,Mar 1 2000,7.25",
        "MSFT,Feb 1 2000,8.0",
        "IBM,Feb 1 2001,100.0",
    )
    assert table[0] == ["year", "AAPL", "IBM", "MSFT"]
    assert table[1] == ["2000", "7.25", "", "8.00"]
    assert table[2] == ["2001", "", "100.00", "12.50"]
    assert len(table) == 3


def test_the_last_date_counts_wherever_it_stands(tmp_path):
    table, returns, _ = run(tmp_path, "A,Nov 1 2001,30.0", "A,Dec 1 2001,20.0", "A,Apr 1 2001,40.0")
    assert table == [["year", "A"], ["2001", "20.00"]]
    assert returns == {"A": pytest.approx(-50.0)}


def test_rows_without_a_price_are_ignored(tmp_path):
    table, returns, winner = run(tmp_path, "A,Jan 1 2001,", "A,Feb 1 2001,10", "A,Nov 1 2001,11", "A,Dec 1 2001,")
    assert table[1:] == [["2001", "11.00"]]
    assert returns == {"A": pytest.approx(10.0)}
    assert winner == "A"


def test_returns_and_winner(tmp_path):
    _, returns, winner = run(
        tmp_path, "B,Jan 1 2000,10", "B,Jan 1 2001,30", "A,Jan 1 2000,100", "A,Jan 1 2001,110", "C,May 1 2001,5"
    )
    assert returns == {"A": pytest.approx(10.0), "B": pytest.approx(200.0), "C": pytest.approx(0.0)}
    assert winner == "B"


def test_the_first_of_equal_winners(tmp_path):
    _, _, winner = run(tmp_path, "Z,Jan 1 2000,1", "Z,Feb 1 2000,2", "M,Jan 1 2000,10", "M,Feb 1 2000,20")
    assert winner == "M"
