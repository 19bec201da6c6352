import csv
import json
from pathlib import Path

import pytest

from solution import main

OUT = Path("/var/outputs")


def run(tmp_path, *rows):
    path = tmp_path / "contacts"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("name", "email", "phone", "updated"), *rows])
    main(["--contacts", str(path)])
    with (OUT / "clean").open(newline="") as file:
        table = [tuple(row) for row in csv.reader(file)]
    assert table[0] == ("email", "name", "phone", "updated")
    return table[1:], int((OUT / "duplicates").read_text()), json.loads((OUT / "domains").read_text())


def test_fields_are_cleaned(tmp_path):
    table, duplicates, domains = run(tmp_path, ("  Ann   Abel ", " Ann@Example.COM ", "+44 (20) 123-4", "2024-01-02"))
    assert table == [("ann@example.com", "Ann Abel", "44201234", "2024-01-02")]
    assert duplicates == 0
    assert domains == {"example.com": 1}


@pytest.mark.parametrize(
    ("phone", "expected"), [("0044 20 1", "44201"), ("044 20 1", "044201"), ("+49-30/100", "4930100"), ("", "")]
)
def test_phones(tmp_path, phone, expected):
    assert run(tmp_path, ("Ann", "a@b.c", phone, "2024-01-02"))[0][0][2] == expected


def test_the_row_updated_last_is_kept(tmp_path):
    table, duplicates, domains = run(
        tmp_path,
        ("Old", "ann@b.c", "1", "2023-12-31"),
        ("New", "ANN@b.c", "2", "2024-02-01"),
        ("Middle", "ann@b.c ", "3", "2024-01-31"),
    )
    assert table == [("ann@b.c", "New", "2", "2024-02-01")]
    assert duplicates == 2
    assert domains == {"b.c": 1}


def test_of_equal_dates_the_first_is_kept(tmp_path):
    table, duplicates, _ = run(
        tmp_path, ("First", "ann@b.c", "1", "2024-01-01"), ("Second", "ann@b.c", "2", "2024-01-01")
    )
    assert table == [("ann@b.c", "First", "1", "2024-01-01")]
    assert duplicates == 1


def test_rows_without_email_are_dropped_and_are_no_duplicates(tmp_path):
    table, duplicates, domains = run(
        tmp_path, ("Nobody", "", "1", "2024-01-01"), ("None", "   ", "2", "2024-01-01"), ("Bo", "bo@x.y", "3", "2024-01-01")
    )
    assert [row[0] for row in table] == ["bo@x.y"]
    assert duplicates == 0
    assert domains == {"x.y": 1}


def test_sorted_by_email_with_domains_counted(tmp_path):
    table, _, domains = run(
        tmp_path,
        ("Zoe", "zoe@x.y", "1", "2024-03-01"),
        ("Bo", "bo@x.y", "1", "2024-01-01"),
        ("Ann", "ann@z.y", "1", "2024-02-01"),
    )
    assert [row[0] for row in table] == ["ann@z.y", "bo@x.y", "zoe@x.y"]
    assert domains == {"x.y": 2, "z.y": 1}
