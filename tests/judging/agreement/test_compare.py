"""Outputs that mean the same are the same, and what differs is found and told."""

from __future__ import annotations

import csv
import io
import json
import random
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.judging.agreement.compare import OutputDifference, OutputValue, difference
from flyteplugins_codegen.judging.agreement.order import RowOrder

SALES = b"region,n,total,day\nNorth,3,10.5,2024-01-02\nSouth,1,7.25,2024-01-01\nEast,2,,2024-01-03\n"
PNG = b"\x89PNG\r\n\x1a\n\x00\x00"


def of_files(one: bytes, other: bytes, order: RowOrder = "free", **settings: bool) -> OutputDifference | None:
    found = difference({"table": one}, {"table": other}, {"table": "file"}, order, **settings)
    mirrored = difference({"table": other}, {"table": one}, {"table": "file"}, order, **settings)
    assert (found is None) == (mirrored is None)
    return found


def of_values(one: OutputValue, other: OutputValue, **settings: bool) -> OutputDifference | None:
    return difference({"x": one}, {"x": other}, {"x": "str"}, "free", **settings)


def csv_file(rows: list[tuple[Any, ...]], **layout: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text, **layout).writerows(rows)
    return text.getvalue().encode()


def parquet_file(**columns: list[Any]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue())


def workbook(*rows: tuple[Any, ...], title: str = "Sheet") -> bytes:
    book, data = openpyxl.Workbook(), io.BytesIO()
    assert book.active is not None
    book.active.title = title
    for row in rows:
        book.active.append(row)
    book.save(data)
    return data.getvalue()


# --- single values ---


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (3, 3.0),
        (0.1 + 0.2, 0.3),
        (3.14, 3.14159),
        ("3.14", "3.1416"),
        (1234567.891, 1234567.8910001),
        (float("nan"), float("nan")),
        ("a b ", "  a b"),
        ("2024-01-01", "2024-01-01T00:00:00"),
        ("2024-01-01T12:00:00Z", "2024-01-01 13:00:00+01:00"),
        ("2024-01-01T12:00:00.500Z", "2024-01-01T12:00:00.5+00:00"),
        ("5400s", "5400.0s"),
        ("None", ""),
        (True, "true"),
        ("mean 2.50, n 3", "mean 2.5, n 3"),
    ],
)
def test_values_that_mean_the_same_do_not_differ(one: OutputValue, other: OutputValue) -> None:
    assert of_values(one, other) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (3, 4),
        (1_000_000_000, 1_000_000_001),
        (3.14, 3.16),
        (2.5, 2.46),
        (3, 3.14),
        ("a", "b"),
        ("a", "A"),
        ("00123", "123"),
        ("2024-01-01", "2024-01-02"),
        ("2024-01-01T12:00:00Z", "2024-01-01T12:00:00+01:00"),
        ("5400s", "5401s"),
        ("", "x"),
        (True, False),
        (True, 1),
        ("v1.10", "v1.1"),
        ("tea", "tea, coffee"),
    ],
)
def test_values_that_mean_something_else_differ(one: OutputValue, other: OutputValue) -> None:
    found = of_values(one, other)
    assert found == OutputDifference("x", "", str(one), str(other))


def test_rounding_counts_where_the_description_fixes_it() -> None:
    assert of_values(3.14, 3.14159, is_rounding_fixed=True) is not None
    assert of_values(3.14, 3.14 + 1e-9, is_rounding_fixed=True) is None


def test_halves_rounded_by_two_rules_are_told_apart_from_other_differences() -> None:
    found = of_values(2.67, 2.68)
    assert found is not None
    assert found.is_last_digit
    found = of_values(2.67, 2.69)
    assert found is not None
    assert not found.is_last_digit


def test_an_output_that_only_one_side_has_is_told_as_such() -> None:
    kinds = {"x": "int", "y": "int"}
    found = difference({"x": 1}, {"x": 1, "y": 2}, kinds, "free")
    assert found == OutputDifference("y", "", "absent", "present", is_presence=True)
    assert difference({"x": 1}, {"x": 1}, kinds, "free") is None


def test_a_value_comes_before_the_last_digit_and_that_before_an_order() -> None:
    rows = SALES.splitlines(keepends=True)
    turned = b"".join([rows[0], *reversed(rows[1:])])
    kinds = {"table": "file", "digit": "float", "value": "int"}
    one = {"table": SALES, "digit": 1.24, "value": 1}
    other = {"table": turned, "digit": 1.25, "value": 2}
    told = []
    for _ in range(3):
        found = difference(one, other, kinds, "asked")
        assert found is not None
        told.append(found.output)
        del kinds[found.output]
    assert told == ["value", "digit", "table"]


# --- tables ---


@pytest.mark.parametrize(
    "other",
    [
        b"day,total,region,n\n2024-01-02,10.5,North,3\n2024-01-01,7.25,South,1\n2024-01-03,,East,2\n",
        b"region,n,total,day\nSouth,1,7.25,2024-01-01\nEast,2,,2024-01-03\nNorth,3,10.5,2024-01-02\n",
        b"region,n,total,day\nNorth,3.0,10.500000001,2024-01-02\nSouth,1.0,7.25,2024-01-01\nEast,2.0,NaN,2024-01-03\n",
        b"region;n;total;day\r\nNorth;3;10.50;2024-01-02\r\nSouth;1;7.25;2024-01-01\r\nEast;2;null;2024-01-03",
        (
            b'"region"\t"n"\t"total"\t"day"\n"North"\t3\t10.5\t2024-01-02 00:00:00\nSouth\t1\t7.25\t2024-01-01\n'
            b"East\t2\tNA\t2024-01-03T00:00:00Z\n"
        ),
        (
            b'[{"region": "North", "n": 3, "total": 10.5, "day": "2024-01-02"}, {"region": "East", "n": 2, '
            b'"day": "2024-01-03"}, {"region": "South", "n": 1, "total": 7.25, "day": "2024-01-01"}]'
        ),
        (
            b'{"region": "North", "n": 3, "total": 10.5, "day": "2024-01-02"}\n{"region": "South", "n": 1, "total": '
            b'7.25, "day": "2024-01-01"}\n{"region": "East", "n": 2, "total": null, "day": "2024-01-03"}\n'
        ),
    ],
    ids=["columns", "rows", "floats", "semicolons", "tabs and times", "JSON", "JSON Lines"],
)
def test_a_table_written_another_way_is_the_same(other: bytes) -> None:
    assert of_files(SALES, other) is None


@pytest.mark.parametrize(
    ("other", "where", "one", "cell"),
    [
        (SALES.replace(b"7.25", b"7.5"), "column 'total', row 2, where region is South", "7.25", "7.5"),
        (SALES.replace(b"South,1", b"South,2"), "column 'n', row 2, where region is South", "1", "2"),
        (SALES.replace(b"East,2,,", b"East,2,0,"), "column 'total', row 3, where region is East", "null", "0"),
        (SALES.replace(b"South", b"Sud"), "column 'region', row 2, where n is 1", "South", "Sud"),
        (SALES.replace(b"01-03", b"01-04"), "column 'day', row 3, where region is East", "2024-01-03", "2024-01-04"),
        (SALES.replace(b",n,", b",count,"), "columns", "region, n, total, day", "region, count, total, day"),
    ],
)
def test_a_cell_that_differs_is_told_with_its_row(other: bytes, where: str, one: str, cell: str) -> None:
    assert of_files(SALES, other) == OutputDifference("table", where, one, cell)


def test_a_row_more_or_less_is_told_with_its_values() -> None:
    lines = SALES.splitlines(keepends=True)
    found = of_files(SALES, b"".join(lines[:-1]))
    assert found is not None
    assert (found.one, found.other) == ("3 rows, one of them region=East, n=2, total=null, day=2024-01-03", "2 rows")
    found = of_files(SALES, SALES + lines[1])
    assert found is not None
    assert found.other == "4 rows, one of them region=North, n=3, total=10.5, day=2024-01-02"


def test_rows_count_as_often_as_they_occur() -> None:
    assert of_files(b"a,b\n1,x\n1,x\n2,y\n", b"a,b\n1,x\n2,y\n2,y\n") is not None
    assert of_files(b"a,b\n1,x\n1,x\n2,y\n", b"a,b\n1,x\n2,y\n1,x\n") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [(b"k,ok\na,True\nb,False\n", b"k,ok\na,1\nb,0\n"), (b"k,ok\na,true\nb,\n", b"k,ok\na,TRUE\nb,nan\n")],
)
def test_booleans_are_the_same_in_any_spelling(one: bytes, other: bytes) -> None:
    assert of_files(one, other) is None


def test_one_is_no_true_in_a_column_of_numbers() -> None:
    assert of_files(b"k,n\na,True\nb,False\n", b"k,n\na,1\nb,7\n") is not None


def test_numbers_rounded_on_one_side_are_the_same_unless_rounding_is_fixed() -> None:
    exact, rounded = b"k,m\na,3.14159\nb,2.0000001\nc,-0.49999\n", b"k,m\nc,-0.5\na,3.1\nb,2.0\n"
    assert of_files(exact, rounded) is None
    assert of_files(exact, rounded, is_rounding_fixed=True) is not None
    assert of_files(b"k,m\na,3.1\nb,2.1\n", b"k,m\na,3.1\nb,2.14\nc,1.1\n") is not None
    assert of_files(b"k,m\na,3.1\nb,2.1\nd,1.0\n", b"k,m\na,3.1\nb,2.14\nd,1.0\n") is not None


def test_rows_without_a_text_are_matched_by_their_numbers() -> None:
    assert of_files(b"a,b\n1.0000000001,2\n1,3\n", b"a,b\n1,3\n1,2\n") is None
    assert of_files(b"a,b\n1.0000000001,2\n1,3\n", b"a,b\n1,3\n1.1,2\n") is not None


def test_tables_without_rows_are_the_same_however_they_are_written() -> None:
    assert of_files(b"a,b\n", b"b,a\n") is None
    assert of_files(b"a,b\n", b"[]") is None
    assert of_files(b"a,b\n", b"") is None
    assert of_files(b"a,b\n1,2\n", b"a,b\n") is not None
    assert of_files(b'[{"a": 1}]', b"[]") is not None


def test_parquet_is_compared_by_its_rows() -> None:
    one = parquet_file(k=["a", "b"], x=[1.5, None])
    assert of_files(one, parquet_file(x=[None, 1.5], k=["b", "a"])) is None
    assert of_files(one, b"k,x\na,1.5\nb,\n") is None
    assert of_files(one, parquet_file(k=["a", "b"], x=[1.5, 2.0])) is not None


def test_workbooks_are_compared_by_their_sheets() -> None:
    one = workbook(("k", "x"), ("a", 1.5), ("b", None))
    assert of_files(one, workbook(("x", "k"), (None, "b"), (1.5, "a"), title="Result")) is None
    assert of_files(one, workbook(("k", "x"), ("a", 1.5), ("b", 2))) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PNG, PNG + b"\x00"),
        (b"%PDF-1.7 one", b"%PDF-1.7 other"),
        (b"<svg id='1'/>", b"<svg id='2'/>"),
        (b"\x80\x04\x95\x00", b"\x80\x04\x96\x00"),
        (b"PK\x03\x04 no archive", b"PK\x03\x04 another"),
        (PNG, SALES),
    ],
)
def test_what_cannot_be_compared_never_differs(one: bytes, other: bytes) -> None:
    assert of_files(one, other) is None


# --- order ---

RANKED = b"k,n\na,9\nb,5\nc,5\nd,1\n"
TURNED_TIE = b"k,n\na,9\nc,5\nb,5\nd,1\n"
TURNED = b"k,n\na,9\nd,1\nb,5\nc,5\n"


@pytest.mark.parametrize(
    ("other", "order", "differs"),
    [
        (TURNED_TIE, "free", False),
        (TURNED_TIE, "asked", False),
        (TURNED_TIE, "asked_with_ties", True),
        (TURNED, "free", False),
        (TURNED, "asked", True),
        (TURNED, "asked_with_ties", True),
    ],
)
def test_the_order_of_rows_counts_as_far_as_it_is_asked_for(other: bytes, order: RowOrder, *, differs: bool) -> None:
    found = of_files(RANKED, other, order)
    assert (found is not None) is differs
    assert found is None or found.is_order_only


def test_a_column_of_one_value_excuses_no_order_of_many_rows() -> None:
    rows = [("k", "unit"), *((f"k{number:02d}", 1) for number in range(20))]
    assert of_files(csv_file(rows), csv_file([rows[0], *reversed(rows[1:])]), "asked") is not None


# --- documents, text, folders ---


@pytest.mark.parametrize(
    ("one", "other", "where"),
    [
        ({"a": 1, "b": [1, 2]}, {"b": [1, 2.0000000001], "a": 1}, None),
        ({"a": None}, {}, None),
        ({"tags": ["x", "y"]}, {"tags": ["y", "x"]}, None),
        ({"rows": [{"k": 1}, {"k": 2}]}, {"rows": [{"k": 2}, {"k": 1}]}, None),
        ({"a": 1}, {"a": 2}, "$.a"),
        ({"point": [1, 2]}, {"point": [2, 1]}, "$.point[0]"),
        ({"rows": [{"k": 1}, {"k": 2}]}, {"rows": [{"k": 2}, {"k": 3}]}, "$.rows: column 'k', row 1"),
        ({"a": {"b": [1]}}, {"a": {"b": [1, 2]}}, "$.a.b"),
        ({"a": "x"}, {"a": ["x"]}, "$.a"),
    ],
)
def test_json_documents_are_compared_by_structure(one: Any, other: Any, where: str | None) -> None:
    found = of_files(json.dumps(one).encode(), json.dumps(other, indent=1).encode())
    assert (found and found.where) == where


def test_text_is_compared_by_lines() -> None:
    assert of_files(b"rainy days: 3 \nmean: 2.50\n", b"rainy days: 3\r\nmean: 2.5") is None
    assert of_files(b"apple\npear\n", b"pear\napple\n") is None
    found = of_files(b"apple\npear\n", b"pear\napple\n", "asked")
    assert found == OutputDifference("table", "line 1", "apple", "pear", is_order_only=True)
    assert of_files(b"apple\npear\n", b"apple\nplum\n") == OutputDifference("table", "line 2", "pear", "plum")
    assert of_files(b"apple\npear\n", b"apple\n") == OutputDifference("table", "line 2", "pear", "1 lines")


def test_folders_are_compared_file_by_file() -> None:
    kinds = {"out": "directory"}
    one = {"out": {"a.csv": SALES, "b.txt": b"x"}}
    assert difference(one, {"out": {"b.txt": b"x\n", "a.csv": SALES}}, kinds, "free") is None
    missing = difference(one, {"out": {"a.csv": SALES}}, kinds, "free")
    assert missing == OutputDifference("out", "b.txt", "present", "absent", is_presence=True)
    changed = difference(one, {"out": {"a.csv": SALES, "b.txt": b"y"}}, kinds, "free")
    assert changed == OutputDifference("out", "b.txt: line 1", "x", "y")


def test_what_is_told_is_short() -> None:
    found = of_values("a" * 5000, "b" * 5000)
    assert found is not None
    assert max(len(found.one), len(found.other)) <= 200


# --- any table ---

CELLS = st.one_of(
    st.none(), st.integers(-999, 999), st.floats(-1e6, 1e6).map(lambda x: round(x, 4)), st.sampled_from("abcde")
)
TABLES = st.integers(2, 4).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), min_size=2, max_size=12))


@given(TABLES, st.randoms(use_true_random=False))
def test_any_table_is_the_same_in_another_order_of_rows_and_columns(
    rows: list[tuple[Any, ...]], chance: random.Random
) -> None:
    header = tuple(f"c{number}" for number in range(len(rows[0])))
    places = list(range(len(header)))
    chance.shuffle(places)
    moved = [tuple(row[place] for place in places) for row in [header, *chance.sample(rows, len(rows))]]
    assert of_files(csv_file([header, *rows]), csv_file(moved, delimiter="\t")) is None


@given(TABLES, st.randoms(use_true_random=False))
def test_any_table_differs_when_one_cell_changes(rows: list[tuple[Any, ...]], chance: random.Random) -> None:
    header = tuple(f"c{number}" for number in range(len(rows[0])))
    row, place = chance.randrange(len(rows)), chance.randrange(len(header))
    cell = rows[row][place]
    other = "zz" if cell is None or isinstance(cell, str) else cell + 1
    changed = [list(each) for each in rows]
    changed[row][place] = other
    assert of_files(csv_file([header, *rows]), csv_file([header, *map(tuple, changed)])) is not None
