import csv
import json
from pathlib import Path

import pytest

from solution import main

OUT = Path("/var/outputs")


def run(tmp_path, rows, limit=0):
    path = tmp_path / "transactions"
    path.write_text("id,account,booked,kind,amount\n" + "".join(f"{n},{row}\n" for n, row in enumerate(rows, start=1)))
    main(["--transactions", str(path), "--limit", str(limit)])
    with (OUT / "statement").open(newline="") as file:
        table = list(csv.reader(file))
    assert table[0] == ["id", "account", "booked", "balance"]
    return [(row[0], row[1], row[2], float(row[3])) for row in table[1:]]


def final():
    return json.loads((OUT / "final").read_text())


def overdrawn():
    return int((OUT / "overdrawn").read_text())


def busiest():
    return (OUT / "busiest_day").read_text().strip()


def test_balances_run_by_account(tmp_path):
    rows = ["A,2024-01-01,credit,100.00", "B,2024-01-01,credit,20.50", "A,2024-01-02,debit,30.25"]
    assert run(tmp_path, rows) == [
        ("1", "A", "2024-01-01", 100.0),
        ("2", "B", "2024-01-01", 20.5),
        ("3", "A", "2024-01-02", 69.75),
    ]
    assert final() == {"A": 69.75, "B": 20.5}
    assert busiest() == "2024-01-01"


def test_sorted_by_day_and_stable_within(tmp_path):
    rows = ["A,2024-01-03,credit,5.00", "A,2024-01-01,debit,1.00", "A,2024-01-03,debit,2.00", "A,2024-01-02,credit,4.00"]
    assert [(row[0], row[3]) for row in run(tmp_path, rows)] == [("2", -1.0), ("4", 3.0), ("1", 8.0), ("3", 6.0)]


@pytest.mark.parametrize(("limit", "accounts"), [(0, 2), (10, 1), (9.99, 2), (50, 0), (49.5, 1)])
def test_overdrawn_is_below_the_limit(tmp_path, limit, accounts):
    rows = [
        "A,2024-01-01,debit,10.00",
        "A,2024-01-02,credit,100.00",
        "B,2024-01-01,debit,30.00",
        "B,2024-01-02,debit,20.00",
        "C,2024-01-02,credit,20.00",
    ]
    run(tmp_path, rows, limit)
    assert overdrawn() == accounts


def test_busiest_day_counts_both_kinds(tmp_path):
    rows = ["A,2024-01-01,credit,60.00", "A,2024-01-02,debit,30.00", "B,2024-01-02,credit,40.00"]
    run(tmp_path, rows)
    assert busiest() == "2024-01-02"


def test_the_earliest_of_equally_busy_days(tmp_path):
    run(tmp_path, ["A,2024-01-05,credit,60.00", "A,2024-01-02,debit,60.00"])
    assert busiest() == "2024-01-02"


def test_nothing(tmp_path):
    assert run(tmp_path, []) == []
    assert final() == {}
    assert overdrawn() == 0
    assert busiest() == ""
