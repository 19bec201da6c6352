import csv
from pathlib import Path

import pytest

from solution import main

COLUMNS = [
    "Name",
    "Political Affiliation at Appointment",
    "Province / Territory",
    "Appointed on the advice of",
    "Term (yyyy.mm.dd)",
    "start_date",
    "end_date",
    "reason",
    "diff_days",
    "observed",
]


def term(start, end, reason="Retirement", name="Roy, Philippe", province="Alberta"):
    values = [name, "", province, "", "", f"{start} 00:00:00", f"{end} 00:00:00", reason, 0, True]
    return dict(zip(COLUMNS, values))


@pytest.fixture
def run(tmp_path):
    def run(*terms, on="2000-01-01"):
        with open(tmp_path / "senators", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(terms)
        main(["--senators", str(tmp_path / "senators"), "--on", on])
        with open("/var/outputs/by_province", newline="", encoding="utf-8") as file:
            provinces = [tuple(row.values()) for row in csv.DictReader(file)]
        serving = int(Path("/var/outputs/serving").read_text())
        return provinces, serving, Path("/var/outputs/longest").read_text(encoding="utf-8")

    return run


def numbers(row):
    return row[0], int(row[1]), int(row[2]), float(row[3]) if row[3] else None


def test_provinces(run):
    provinces, _, _ = run(
        term("2000-01-01", "2000-01-11"),
        term("2000-01-01", "2000-01-16"),
        term("2000-01-01", "2000-03-01", province="Yukon"),
        term("2000-01-01", "2013-10-01", reason="", province="Yukon"),
        term("2000-01-01", "2000-01-31"),
        term("2000-01-01", "2013-10-01", reason="", province="Nunavut"),
    )
    assert [numbers(row) for row in provinces] == [
        ("Alberta", 3, 3, pytest.approx(55 / 3)),
        ("Yukon", 2, 1, 60.0),
        ("Nunavut", 1, 0, None),
    ]


def test_divisions_and_ties(run):
    provinces, _, _ = run(
        term("2000-01-01", "2000-01-11", province="Quebec"),
        term("2000-01-01", "2000-01-21", province="Quebec (Division)"),
        term("2000-01-01", "2000-01-05", province="Ontario"),
        term("2000-01-01", "2000-01-05", province="Ontario"),
    )
    assert [numbers(row) for row in provinces] == [("Ontario", 2, 2, 4.0), ("Quebec", 2, 2, 15.0)]


@pytest.mark.parametrize(("on", "expected"), [("1999-12-31", 1), ("2000-01-01", 2), ("2000-01-09", 2), ("2000-01-10", 1)])
def test_serving_on_a_day(run, on, expected):
    terms = [term("2000-01-01", "2000-01-10"), term("1990-01-01", "1999-12-31", reason="")]
    assert run(*terms, on=on)[1] == expected


def test_declined_terms_are_left_out(run):
    provinces, serving, longest = run(
        term("1999-01-01", "2005-01-01", reason="Appointment declined", province="Yukon"),
        term("1999-12-31", "2000-02-01", reason="Death", name="Smith, Larry"),
    )
    assert [row[0] for row in provinces] == ["Alberta"]
    assert (serving, longest) == (1, "Larry Smith")


@pytest.mark.parametrize(
    ("name", "shown"),
    [("Roy, Philippe", "Philippe Roy"), ("Nancy Ruth", "Nancy Ruth"), ("Enverga, Jr., Tobias C.", "Tobias C. Enverga, Jr.")],
)
def test_names(run, name, shown):
    assert run(term("2000-01-01", "2000-01-10", name=name))[2] == shown


def test_longest_term(run):
    terms = [
        term("2000-01-01", "2000-01-11", name="B, Late"),
        term("1999-01-01", "1999-01-11", name="A, Early"),
        term("1990-01-01", "2013-01-01", name="C, Open", reason=""),
        term("1999-01-01", "1999-01-05", name="D, Short"),
    ]
    assert run(*terms)[2] == "Early A"
    assert run(terms[2])[2] == ""
