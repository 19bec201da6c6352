"""Which files are derived from which samples, and that they stay valid."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flyteplugins_codegen.data.derived.derive import Derivation, DerivedCase, derive_cases
from flyteplugins_codegen.data.derived.wording import Border, find_borders, speaks_of_ties
from flyteplugins_codegen.data.formats import sniff_dialect

WEATHER = "Count the days with at least 1 mm of rain; the mean of temperature."


def csv_text(rows: list[tuple[Any, ...]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


@pytest.fixture
def weather(tmp_path: Path) -> Path:
    rows = [(f"2024-{1 + n // 28:02d}-{1 + n % 28:02d}", round(n * 7 % 13 / 4, 2), n % 9 - 2.5) for n in range(60)]
    path = tmp_path / "weather.csv"
    path.write_text(csv_text([("day", "rain", "temperature"), *rows]))
    return path


@pytest.fixture
def shop(tmp_path: Path) -> dict[str, Path]:
    customers = [(f"C{n:03d}", f"name {n}", "north" if n % 2 else "south") for n in range(30)]
    orders = [(n + 1, f"C{n * 7 % 30:03d}", n % 5 + 1, "" if n % 9 == 4 else f"{n % 11}.50") for n in range(90)]
    paths = {"customers": tmp_path / "customers.csv", "orders": tmp_path / "orders.csv"}
    paths["customers"].write_text(csv_text([("customer_id", "name", "region"), *customers]))
    paths["orders"].write_text(csv_text([("order_id", "customer_id", "quantity", "price"), *orders]))
    return paths


def cases_of(samples: dict[str, Path], description: str, folder: Path, **limits: int) -> tuple[DerivedCase, ...]:
    return derive_cases(samples, description, folder / "derived", **limits)


def by_kind(cases: tuple[DerivedCase, ...], kind: Derivation) -> list[DerivedCase]:
    return [case for case in cases if case.kind == kind]


def rows_of(path: Path) -> list[list[str]]:
    text = path.read_text()
    return list(csv.reader(io.StringIO(text), delimiter=sniff_dialect(text).delimiter))


def test_each_case_changes_one_sample_and_says_how(weather: Path, tmp_path: Path) -> None:
    cases = cases_of({"weather": weather}, WEATHER, tmp_path)
    assert [(case.label, case.kind, case.is_settled) for case in cases] == [
        ("weather with rain just below, at and just above 1", "border", True),
        ("weather with its rows shuffled", "shuffled", True),
        ("weather cut to its first half", "halved", True),
        ("weather with every 10th row", "thinned", True),
        ("weather with its columns in reverse order", "columns_reordered", True),
        ("weather with equal values in rain", "ties", False),
        ("weather with equal values in temperature", "ties", False),
        ("weather cut to its first row", "one_row", False),
    ]
    assert all(case.samples["weather"].name == "weather.csv" for case in cases)
    assert len({case.samples["weather"] for case in cases}) == len(cases)


def test_the_same_samples_give_the_same_files(weather: Path, tmp_path: Path) -> None:
    first = cases_of({"weather": weather}, WEATHER, tmp_path / "one")
    second = cases_of({"weather": weather}, WEATHER, tmp_path / "other")
    assert [case.label for case in first] == [case.label for case in second]
    assert all(
        one.samples["weather"].read_bytes() == other.samples["weather"].read_bytes()
        for one, other in zip(first, second, strict=True)
    )


def test_values_lie_on_both_sides_of_a_border_and_on_it(weather: Path, tmp_path: Path) -> None:
    (case,) = by_kind(cases_of({"weather": weather}, WEATHER, tmp_path), "border")
    old, new = rows_of(weather), rows_of(case.samples["weather"])
    changed = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    assert {b[1] for _, b in changed} <= {"0.99", "1.00", "1.0", "1.01"}
    assert {float(b[1]) for _, b in changed} == {0.99, 1.0, 1.01}
    assert all((a[0], a[2]) == (b[0], b[2]) for a, b in changed)


def test_shuffled_rows_are_the_same_rows(weather: Path, tmp_path: Path) -> None:
    (case,) = by_kind(cases_of({"weather": weather}, WEATHER, tmp_path), "shuffled")
    old, new = weather.read_text().splitlines(), case.samples["weather"].read_text().splitlines()
    assert old != new
    assert old[0] == new[0]
    assert sorted(old) == sorted(new)


@pytest.mark.parametrize(
    "description",
    [
        "The running total of rain.",
        "The longest streak of days with rain.",
        "How much warmer was each day than the previous one?",
        "Write the first reading of each month.",
        "At which row does temperature peak?",
        "The 7-day rolling mean of temperature.",
        "Keep the rows in the order of the file.",
        "The first value of each sensor.",
    ],
)
def test_rows_are_not_shuffled_or_doubled_where_their_order_may_matter(
    description: str, weather: Path, tmp_path: Path
) -> None:
    kinds = {case.kind for case in cases_of({"weather": weather}, description, tmp_path)}
    assert "halved" in kinds
    assert not kinds & {"shuffled", "doubled"}


@pytest.mark.parametrize(
    "description",
    [
        "The kinds by mean rain, highest first.",
        "The kind with most rain, the alphabetically first of equal ones.",
        "Rain by month, written as the first day of the month.",
    ],
)
def test_rows_are_shuffled_where_only_the_output_is_sorted(description: str, weather: Path, tmp_path: Path) -> None:
    assert by_kind(cases_of({"weather": weather}, description, tmp_path), "shuffled")


def test_rows_are_taken_evenly_unless_their_order_matters(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(csv_text([("k", "x"), *((f"k{n % 7}", n) for n in range(1000))]))
    for description, last in (("sum of x by k", 990), ("cumulative sum of x", 99)):
        cases = cases_of({"a": path}, description, tmp_path / str(last), most_rows=100)
        (case,) = by_kind(cases, "columns_reordered")
        numbers = [int(row[0]) for row in rows_of(case.samples["a"])[1:]]
        assert (len(numbers), numbers[0], max(numbers)) == (100, 0, last)
        assert all(len(rows_of(case.samples["a"])) <= 101 for case in cases)


def test_a_table_that_others_refer_to_keeps_its_rows(shop: dict[str, Path], tmp_path: Path) -> None:
    cases = cases_of(shop, "Total quantity by region, joined by customer_id.", tmp_path)
    customers = shop["customers"].read_text().splitlines()
    changed = [case for case in cases if case.samples["customers"] != shop["customers"]]
    assert [case.kind for case in changed] == ["shuffled"]
    assert sorted(changed[0].samples["customers"].read_text().splitlines()) == sorted(customers)
    known = {line.split(",")[0] for line in customers}
    for case in cases:
        header, *rows = rows_of(case.samples["orders"])
        assert {row[header.index("customer_id")] for row in rows} <= known
    assert {case.kind for case in cases} >= {"halved", "shuffled", "one_row"}


def test_rows_are_doubled_only_where_nothing_identifies_them(shop: dict[str, Path], tmp_path: Path) -> None:
    assert not by_kind(cases_of(shop, "Total quantity by region.", tmp_path), "doubled")
    path = tmp_path / "a.csv"
    path.write_text(csv_text([("k", "x"), *((f"k{n % 7}", n % 5) for n in range(100))]))
    (case,) = by_kind(cases_of({"a": path}, "mean of x by k", tmp_path / "a"), "doubled")
    assert Counter(map(tuple, rows_of(case.samples["a"])[1:]))["k0", "0"] % 2 == 0
    assert not by_kind(cases_of({"a": path}, "the number of distinct x by k", tmp_path / "b"), "doubled")


def test_keys_stay_unique_and_nulls_are_spelled_as_in_the_sample(shop: dict[str, Path], tmp_path: Path) -> None:
    description = "Orders with quantity over 3 and order_id over 10: mean price, missing prices left out; ties by name."
    cases = cases_of(shop, description, tmp_path)
    assert {case.kind for case in cases} >= {"null", "ties", "border"}
    for case in cases:
        header, *rows = rows_of(case.samples["orders"])
        ids = [row[header.index("order_id")] for row in rows]
        assert len(set(ids)) == len(ids)
    (case,) = by_kind(cases, "null")
    assert case.is_settled
    prices = [row[3] for row in rows_of(case.samples["orders"])[1:]]
    assert prices.count("") == [row[3] for row in rows_of(shop["orders"])].count("") + 3


def test_orders_between_columns_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "stays.csv"
    rows = [(f"s{n % 6}", 10 + n % 20, 10 + n % 20 + n % 4) for n in range(80)]
    path.write_text(csv_text([("hotel", "arrival_day", "leaving_day"), *rows]))
    cases = cases_of({"stays": path}, "Stays with arrival_day over 20 by hotel, ties by hotel.", tmp_path)
    assert {case.kind for case in cases} >= {"ties", "border"}
    for case in cases:
        header, *found = rows_of(case.samples["stays"])
        at = header.index("arrival_day"), header.index("leaving_day")
        assert all(int(row[at[0]]) <= int(row[at[1]]) for row in found)


def test_no_new_code_is_made_up_at_a_border(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(csv_text([("name", "class"), *((f"n{n}", 1 + n % 3) for n in range(60))]))
    for case in cases_of({"people": path}, "How many are in class 3 or above, and in class 1?", tmp_path):
        header, *rows = rows_of(case.samples["people"])
        assert {row[header.index("class")] for row in rows} <= {"1", "2", "3"}


def test_dates_at_a_border_keep_their_form(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [("x", f"2024-03-{1 + n % 28:02d}") for n in range(60)]
    path.write_text(csv_text([("k", "ordered"), *rows]))
    (case,) = by_kind(cases_of({"a": path}, "Count the rows ordered before 2024-03-15.", tmp_path), "border")
    assert case.is_settled
    changed = [b[1] for a, b in zip(rows_of(path), rows_of(case.samples["a"]), strict=True) if a != b]
    assert set(changed) <= {"2024-03-14", "2024-03-15", "2024-03-16"}


def test_json_and_parquet_keep_their_types(tmp_path: Path) -> None:
    records = [{"kind": f"k{n % 5}", "size": n % 40 / 2, "count": None if n % 10 == 3 else n % 7} for n in range(50)]
    (tmp_path / "a.json").write_text(json.dumps(records))
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "a.parquet")
    description = "Rows with a size of at least 10: mean of count, a missing count left out, ties by kind."
    cases = cases_of({"a": tmp_path / "a.json"}, description, tmp_path / "json")
    typed = cases_of({"a": tmp_path / "a.parquet"}, description, tmp_path / "parquet")
    assert [case.label for case in cases] == [case.label for case in typed]
    assert {"border", "null", "ties"} <= {case.kind for case in cases}
    for case, other in zip(cases, typed, strict=True):
        table = pq.read_table(other.samples["a"])
        assert {str(field.type) for field in table.schema} == {"string", "double", "int64"}
        assert json.loads(case.samples["a"].read_text()) == table.to_pylist()


def test_samples_that_are_no_tables_are_left_alone(weather: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("Days of 2024 are in the other file.\n")
    assert cases_of({"notes": notes}, WEATHER, tmp_path) == ()
    cases = cases_of({"notes": notes, "weather": weather}, WEATHER, tmp_path)
    assert all(case.samples["notes"] == notes for case in cases)
    assert "halved" not in {case.kind for case in cases}  # the notes may refer to any day


def test_at_most_twelve_cases_the_settled_ones_first(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    header = ("k", *(f"value_{letter}" for letter in "abcd"))
    rows = [(f"k{n % 5}", *("" if n % 17 == c else n % (10 + c) for c in range(4))) for n in range(90)]
    path.write_text(csv_text([header, *rows]))
    description = ". ".join(f"Rows with {name} over 5" for name in header[1:])
    cases = cases_of({"a": path}, description, tmp_path)
    assert len(cases) == 12
    assert [case.is_settled for case in cases] == sorted((case.is_settled for case in cases), reverse=True)


def test_groups_are_made_equal_against_the_order_of_their_names(tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    rows = [(n, "ABC"[n % 3], f"{n * 7 % 23}.50") for n in range(60)]
    path.write_text(csv_text([("sale_id", "shop", "amount"), *rows]))
    cases = cases_of({"sales": path}, "The shop with the largest amount; ties alphabetically.", tmp_path)
    (case,) = [case for case in cases if case.label == "sales with equal rows for each shop"]
    assert case.is_settled
    _, *found = rows_of(case.samples["sales"])
    amounts = {shop: [row[2] for row in found if row[1] == shop] for shop in "ABC"}
    assert amounts["A"] == amounts["B"] == amounts["C"]
    assert list(dict.fromkeys(row[1] for row in found)) == ["C", "B", "A"]
    assert len({row[0] for row in found}) == len(found) == 60


def test_groups_have_as_many_rows_as_a_border_and_one_less_and_more(tmp_path: Path) -> None:
    path = tmp_path / "bills.csv"
    path.write_text(csv_text([("day", "total"), *(("abcdef"[n % 6], n * 7 % 31) for n in range(120))]))
    description = "The mean total for each day with at least min_bills bills."
    cases = cases_of({"bills": path}, description, tmp_path / "a")
    assert not by_kind(cases, "border")
    cases = derive_cases({"bills": path}, description, tmp_path / "b", values={"min_bills": 4})
    (case,) = by_kind(cases, "border")
    assert case.label == "bills with 3, 4 and 5 rows for each day"
    assert sorted(Counter(row[0] for row in rows_of(case.samples["bills"])[1:]).values()) == [3, 3, 4, 4, 5, 5]


def test_values_of_inputs_are_borders(weather: Path, tmp_path: Path) -> None:
    description = "Days with more than limit mm of rain."
    assert not by_kind(cases_of({"weather": weather}, description, tmp_path / "a"), "border")
    cases = derive_cases({"weather": weather}, description, tmp_path / "b", values={"limit": 1.5, "flag": True})
    assert [case.label for case in by_kind(cases, "border")] == ["weather with rain just below, at and just above 1.5"]


@pytest.mark.parametrize(
    ("description", "is_null"),
    [
        ("The mean rain; skip rows without rain.", True),
        ("Columns are day, rain (sometimes empty) and temperature.", True),
        ("The rain may be missing.", True),
        ("The mean rain, an empty text if there is none.", False),
        ("The rain of the days where temperature is known.", False),
    ],
)
def test_a_column_gets_its_first_null_only_where_the_description_allows_one(
    description: str, weather: Path, tmp_path: Path, *, is_null: bool
) -> None:
    cases = by_kind(cases_of({"weather": weather}, description, tmp_path), "null")
    assert [case.label for case in cases] == ["weather with more missing values in rain"] * is_null
    assert all("" in {row[1] for row in rows_of(case.samples["weather"])} for case in cases)


def test_a_key_of_two_columns_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "countries.csv"
    rows = [(f"c{n // 8}", 2000 + n % 8, n * n) for n in range(160)]
    path.write_text(csv_text([("country", "year", "people"), *rows]))
    cases = cases_of({"countries": path}, "People by country and year, from year 2003 or later.", tmp_path)
    assert cases
    for case in cases:
        header, *found = rows_of(case.samples["countries"])
        at = header.index("country"), header.index("year")
        assert len({(row[at[0]], row[at[1]]) for row in found}) == len(found)


def test_an_index_without_a_name_stays_first(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(csv_text([("", "kind", "size"), *((n + 1, f"k{n % 4}", n % 9) for n in range(40))]))
    cases = cases_of({"a": path}, "The mean size of each kind, ties by kind.", tmp_path)
    assert {"ties", "shuffled"} <= {case.kind for case in cases}
    for case in cases:
        header, *found = rows_of(case.samples["a"])
        assert header == ["", "kind", "size"]
        assert len({row[0] for row in found}) == len(found)


# --- what a description says ---

COLUMNS = ("precipitation", "temp_max", "Body Mass", "year", "x", "ordered_at")


@pytest.mark.parametrize(
    ("description", "borders"),
    [
        ("Days with at least 1 mm of precipitation.", [(1, "precipitation", True)]),
        ("Days with 1 mm of precipitation or more.", [(1, "precipitation", True)]),
        ("temp max above 30.5, since 2008 (year)", [(30.5, "temp_max", True), (2008, "year", True)]),
        ("body mass between 3,000 and 4000 inclusive", [(3000, "Body Mass", True), (4000, "Body Mass", True)]),
        ("body mass between 3000 and 4000", [(3000, "Body Mass", False), (4000, "Body Mass", False)]),
        ("precipitation, rounded to 2 decimals", []),
        ("The top 5 days by precipitation.", []),
        ("The 7 days with most precipitation, within 30 days", []),
        ("The mean of temp_max over 3 months.", []),
        ("Columns are precipitation; give 5 rows.", []),
        ("At least 3 days. Then precipitation.", []),
        ("rows where x is 4", []),
        ("rows where column x is below 4", [(4, "x", True)]),
    ],
)
def test_borders_are_the_numbers_beside_a_column(description: str, borders: list[tuple[float, str, bool]]) -> None:
    assert find_borders(description, COLUMNS) == tuple(itertools.starmap(Border, borders))


@pytest.mark.parametrize(
    ("description", "speaks"),
    [
        ("sorted by total; ties by name", True),
        ("sorted by region, then total", True),
        ("where totals are equal, the smaller id", True),
        ("sorted by total, largest first", False),
        ("the neckties sold per region", False),
    ],
)
def test_ties_are_spoken_of_by_name_or_by_a_second_key(description: str, *, speaks: bool) -> None:
    assert speaks_of_ties(description) is speaks


def test_rows_are_missing_in_a_lookup_where_the_description_says_what_is_done_then(
    shop: dict[str, Path], tmp_path: Path
) -> None:
    told = "Revenue by region; orders of a customer that is not in customers count under unknown."
    (case,) = by_kind(cases_of(shop, told, tmp_path), "unmatched")
    assert case.label == "customers without every third row"
    assert len(rows_of(case.samples["customers"])) == 1 + 20
    assert case.is_settled
    assert not by_kind(cases_of(shop, "Revenue by region.", tmp_path / "other"), "unmatched")
