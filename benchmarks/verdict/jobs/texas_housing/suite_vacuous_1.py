import csv
from pathlib import Path

from solution import main

HEADER = '"city","year","month","sales","volume","median","listings","inventory","date"\n'
COLUMNS = ["rank", "city", "sales", "average_price", "best_quarter"]


def run(tmp_path, year):
    path = tmp_path / "housing"
    path.write_text(HEADER + '"Abilene",2000,1,72,5380000,71400,701,6.3,2000\n"Austin",2000,2,98,9505000,98700,NA,NA,2000\n')
    main(["--housing", str(path), "--year", str(year), "--n", "2"])
    with open("/var/outputs/prices", newline="") as file:
        return csv.DictReader(file.read().splitlines())


def test_header(tmp_path):
    assert run(tmp_path, 2000).fieldnames == COLUMNS


def test_prices_are_positive_numbers(tmp_path):
    for row in run(tmp_path, 2000):
        assert float(row["average_price"]) > 0
        assert int(row["rank"]) > 0


def test_another_year_does_not_fail(tmp_path):
    run(tmp_path, 1999)
    assert 0 <= float(Path("/var/outputs/coverage").read_text()) <= 1
