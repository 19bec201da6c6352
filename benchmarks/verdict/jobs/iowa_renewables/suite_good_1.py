import csv
from pathlib import Path

import pytest

from solution import main


def run(tmp_path, text, threshold=0.5):
    path = tmp_path / "generation"
    path.write_text("year,source,net_generation\n" + text)
    main(["--generation", str(path), "--threshold", str(threshold)])
    with open("/var/outputs/shares", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["year", "total_twh", "renewable_share", "change"]
    numbers = [(int(float(year)), *(float(cell) if cell else None for cell in rest)) for year, *rest in rows[1:]]
    return numbers, int(Path("/var/outputs/first_year").read_text())


def test_two_years(tmp_path):
    rows, first = run(
        tmp_path,
        "2001-01-01,Fossil Fuels,3000\n2002-01-01,Fossil Fuels,2000\n"
        "2001-01-01,Nuclear Energy,500\n2002-01-01,Nuclear Energy,500\n"
        "2001-01-01,Renewables,500\n2002-01-01,Renewables,2500\n",
    )
    assert rows == [
        (2001, pytest.approx(4.0), pytest.approx(0.125), None),
        (2002, pytest.approx(5.0), pytest.approx(0.5), pytest.approx(0.375)),
    ]
    assert first == 2002


def test_years_are_sorted_and_gaps_have_no_change(tmp_path):
    rows, first = run(
        tmp_path,
        "2005-01-01,Fossil Fuels,600\n2005-01-01,Renewables,400\n"
        "2003-01-01,Fossil Fuels,800\n2003-01-01,Renewables,200\n"
        "2006-01-01,Fossil Fuels,700\n2006-01-01,Renewables,300\n",
        threshold=0.2,
    )
    assert [row[0] for row in rows] == [2003, 2005, 2006]
    assert [row[3] for row in rows] == [None, None, pytest.approx(-0.1)]
    assert first == 2003


def test_missing_renewables_and_empty_generation(tmp_path):
    rows, first = run(
        tmp_path,
        "2001-01-01,Fossil Fuels,1000\n2002-01-01,Fossil Fuels,\n2002-01-01,Renewables,100\n"
        "2003-01-01,Fossil Fuels,0\n2003-01-01,Renewables,\n",
        threshold=0.9,
    )
    assert rows == [(2001, 1.0, 0.0, None), (2002, pytest.approx(0.1), 1.0, pytest.approx(1.0))]
    assert first == 2002


def test_threshold_is_never_reached(tmp_path):
    _, first = run(tmp_path, "2001-01-01,Fossil Fuels,900\n2001-01-01,Renewables,100\n", threshold=0.2)
    assert first == 0
