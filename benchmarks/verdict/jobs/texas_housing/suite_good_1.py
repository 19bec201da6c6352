import csv
from pathlib import Path

import pytest

from solution import main

HEADER = '"city","year","month","sales","volume","median","listings","inventory","date"'


def write_input(path, rows):
    lines = [HEADER]
    for city, year, month, sales, volume, listings in rows:
        lines.append(f'"{city}",{year},{month},{sales},{volume},70000,{listings},6.3,{year}')
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def run(tmp_path):
    def run(rows, year=2010, n=10):
        write_input(tmp_path / "housing", rows)
        main(["--housing", str(tmp_path / "housing"), "--year", str(year), "--n", str(n)])
        with open("/var/outputs/prices", newline="") as file:
            table = [
                (int(row["rank"]), row["city"], int(float(row["sales"])), float(row["average_price"]), row["best_quarter"])
                for row in csv.DictReader(file)
            ]
        return table, float(Path("/var/outputs/coverage").read_text())

    return run


def test_volume_by_sales(run):
    table, coverage = run(
        [
            ("Waco", 2010, 1, 10, 1000000, 5),
            ("Waco", 2010, 5, 30, 6000000, "NA"),
            ("Austin", 2010, 12, 4, 1000000, 7),
            ("Austin", 2009, 1, 100, 900000, 7),
        ]
    )
    assert table == [(1, "Austin", 4, 250000.0, "Q4"), (2, "Waco", 40, 175000.0, "Q2")]
    assert coverage == pytest.approx(2 / 3)


def test_months_need_both_figures(run):
    table, _ = run(
        [
            ("Waco", 2010, 1, 10, 1000000, 5),
            ("Waco", 2010, 4, 90, "NA", 5),
            ("Waco", 2010, 7, "NA", 5000000, 5),
            ("Tyler", 2010, 7, "NA", 5000000, 5),
            ("Dallas", 2010, 7, 0, 0, 5),
        ]
    )
    assert table == [(1, "Waco", 10, 100000.0, "Q1")]


def test_equal_prices_share_a_rank(run):
    rows = [
        (city, 2010, 2, sales, sales * price, 1)
        for city, sales, price in [("Waco", 2, 150), ("Dallas", 4, 150), ("Tyler", 1, 100), ("Austin", 1, 200)]
    ]
    assert [entry[:2] for entry in run(rows)[0]] == [(1, "Austin"), (2, "Dallas"), (2, "Waco"), (4, "Tyler")]
    assert [entry[:2] for entry in run(rows, n=2)[0]] == [(1, "Austin"), (2, "Dallas")]


@pytest.mark.parametrize(("month", "quarter"), [(1, "Q1"), (3, "Q1"), (4, "Q2"), (9, "Q3"), (10, "Q4"), (12, "Q4")])
def test_quarters(run, month, quarter):
    assert run([("Waco", 2010, month, 3, 300, 1)])[0][0][4] == quarter


def test_best_quarter_sums_months_and_takes_the_earlier(run):
    rows = [("Waco", 2010, month, sales, 100, 1) for month, sales in [(11, 6), (1, 4), (2, 4), (7, 8), (4, 7)]]
    assert run(rows)[0][0][4] == "Q1"


def test_a_year_without_rows(run):
    assert run([("Waco", 2010, 1, 10, 1000, 5)], year=2011) == ([], 0.0)
