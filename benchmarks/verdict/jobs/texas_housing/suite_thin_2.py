import csv
from pathlib import Path

import pytest

from solution import main

CITIES = {"Abilene": 70000, "Austin": 210000, "Dallas": 180000}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "housing"
    with path.open("w") as file:
        file.write('"city","year","month","sales","volume","median","listings","inventory","date"\n')
        for city, price in CITIES.items():
            for month in (1, 2, 3):
                file.write(f'"{city}",2005,{month},10,{10 * price},{price},100,5.0,2005\n')
    main(["--housing", str(path), "--year", "2005", "--n", "3"])
    with open("/var/outputs/prices", newline="") as file:
        return list(csv.DictReader(file))


def test_dearest_first(table):
    assert [row["city"] for row in table] == ["Austin", "Dallas", "Abilene"]
    assert [row["rank"] for row in table] == ["1", "2", "3"]


def test_quarters_are_quarters(table):
    assert all(row["best_quarter"] in {"Q1", "Q2", "Q3", "Q4"} for row in table)


def test_coverage(table):
    assert float(Path("/var/outputs/coverage").read_text()) == 1
