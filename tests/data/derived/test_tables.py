"""Files taken apart into rows and written again: what is read, what is refused, and that nothing is reformatted."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.data.derived.tables import SampleTable, read_table

PARQUET = pa.table(
    {
        "n": pa.array([1, None, 3], pa.int8()),
        "price": pa.array([decimal.Decimal("1.20"), None, decimal.Decimal("3.00")]),
        "at": pa.array([1, 123456789012345678, None], pa.timestamp("ns", tz="UTC")),
        "tags": pa.array([["a"], None, []], pa.list_(pa.string())),
        "kind": pa.array(["x", "y", "x"]).dictionary_encode(),
    }
).replace_schema_metadata({"origin": "test"})


def table_of(folder: Path, content: str | bytes, name: str = "a.csv") -> SampleTable | None:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path)


def read(folder: Path, content: str | bytes, name: str = "a.csv") -> SampleTable:
    table = table_of(folder, content, name)
    assert table is not None
    return table


def values(table: SampleTable) -> list[list[Any]]:
    return [[table.cell_value(cell) for cell in row] for row in table.rows]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "n,t\n1,x\n2,\n"),
        ("a.csv", "n,t\r\n1,x\r\n2,y"),
        ("a.csv", 'n,t\n1.50,"x, y"\n"2","say ""hi"""\n007,"two\nlines"\n'),
        ("a.csv", 'n,t\n1,"a\\"b"\n2,"c"\n'),
        ("a.csv", "n;t\n1,5;x\n2;ä\n".encode("latin-1")),
        ("a.csv", "\ufeffn,t\n1,x\n2,y\n"),
        ("a.csv", "n,t\n1,ä\n2,y\n".encode("utf-16")),
        ("a.tsv", "n\tt\n 1 \t'x'\n2\ty\n"),
        ("a.psv", "n|t\n1|x\n"),
        ("a.txt", "n,t\n1,x\n2,y\n"),
        ("a.csv", "n\n1\n2\n"),
        ("a.csv", '"",name\n1,x\n2,y\n'),
        ("a.csv", "country,1990,2000\nA,1,2\nB,3,4\n"),
        ("a.jsonl", '{"n": 1.50, "t": "\\u00e4"}\n{"t": null, "n": [1,  2]}\n{"n": 1e3}\n'),
    ],
)
def test_rows_that_nobody_changed_are_written_as_they_were(name: str, content: str | bytes, tmp_path: Path) -> None:
    table = read(tmp_path, content, name)
    target = tmp_path / f"written-{name}"
    table.write(target, table.rows)
    again = read_table(target)
    assert again is not None
    assert list(again.rows) == list(table.rows)
    assert name.endswith("jsonl") or target.read_bytes() == (tmp_path / name).read_bytes()


def test_json_records_keep_their_spelling_and_the_names_that_they_lack(tmp_path: Path) -> None:
    table = read(tmp_path, '[{"n": 1.50, "t": {"a": [ 1 ]}}, {"t": "\\u00e4"}, {"n": null, "t": 1E2}]', "a.json")
    assert table.columns == ("n", "t")
    assert list(table.rows) == [("1.50", '{"a": [ 1 ]}'), (None, '"\\u00e4"'), ("null", "1E2")]
    target = tmp_path / "b.json"
    table.write(target, table.rows[::-1], ("t", "n"))
    assert target.read_text() == '[{"t": 1E2, "n": null},\n {"t": "\\u00e4"},\n {"t": {"a": [ 1 ]}, "n": 1.50}]\n'


def test_parquet_keeps_types_and_metadata(tmp_path: Path) -> None:
    pq.write_table(PARQUET, tmp_path / "a.parquet")
    typed, table = pq.read_table(tmp_path / "a.parquet"), read_table(tmp_path / "a.parquet")
    assert table is not None
    table.write(tmp_path / "b.parquet", table.rows)
    assert pq.read_table(tmp_path / "b.parquet").equals(typed, check_metadata=True)
    table.write(tmp_path / "c.parquet", [table.rows[2], table.rows[0]], ("kind", "n"))
    taken = pq.read_table(tmp_path / "c.parquet")
    assert taken.schema.types == PARQUET.select(["kind", "n"]).schema.types
    assert taken.to_pylist() == [{"kind": "x", "n": 3}, {"kind": "x", "n": 1}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "report of 2024\nn,t\n1,x\n2,y\n"),
        ("a.csv", "# made by a tool\nn,t\n1,x\n2,y\n"),
        ("a.csv", "n,t\n1,x\n2,y,z\n3,w\n"),
        ("a.csv", "n,t\n1,x\n\n2,y\n"),
        ("a.csv", "1.5,2.5\n1.5,3.5\n"),
        ("a.csv", "150,4,setosa,versicolor\n5.1,3.5,1.4,0\n4.9,3.0,1.4,0\n"),
        ("a.csv", "2020-01-01,Anna\n2020-01-02,Ben\n"),
        ("a.csv", "red,Anna\nblue,Ben\nred,Cleo\n"),
        ("a.csv", "n,n\n1,2\n"),
        ("a.csv", "n,\n1,2\n"),
        ("a.csv", "n,t\n"),
        ("a.csv", 'n,t\n1,"x"y\n2,z\n'),
        ("a.csv", "n,t\n1,x\r\n2,y\n"),
        ("names", "Anna\nBen\n"),
        ("a.csv", "name\nAnna\nBen\n"),
        ("a.json", '{"rows": [{"n": 1}]}'),
        ("a.json", "[1, 2]"),
        ("a.json", "[]"),
        ("a.jsonl", '{"n": 1}\n[2]\n'),
        ("a.jsonl", '{"n": 1}\n{"n": \n'),
        ("a.json", '[{"n": 1}] [{"n": 2}]'),
        ("a.txt", "Dear reader,\nnothing here.\n"),
        ("a.bin", b"\x00\x01\x02" * 10),
        ("a.parquet", b"PAR1 and no more"),
        ("a.csv", ""),
    ],
)
def test_a_file_whose_rows_are_uncertain_is_no_table(name: str, content: str | bytes, tmp_path: Path) -> None:
    assert table_of(tmp_path, content, name) is None


def test_a_file_that_is_missing_or_too_large_is_no_table(tmp_path: Path) -> None:
    assert read_table(tmp_path / "none.csv") is None
    large = tmp_path / "large.csv"
    large.write_bytes(b"n,t\n" + b"1,x\n" * (13 << 20))
    assert read_table(large) is None


def test_cells_have_values_and_nulls_are_none(tmp_path: Path) -> None:
    assert values(read(tmp_path, 'n,t\n1,"a ""b"""\nNA,\n')) == [["1", 'a "b"'], [None, None]]
    assert values(read(tmp_path, '[{"n": 1, "t": NaN}, {"t": "NA"}]', "a.json")) == [[1, None], [None, "NA"]]
    pq.write_table(pa.table({"x": [1.5, float("nan")], "d": [dt.date(2024, 1, 2), None]}), tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert table is not None
    assert values(table) == [[1.5, dt.date(2024, 1, 2)], [None, None]]


def test_a_new_value_is_spelled_as_the_cell_is(tmp_path: Path) -> None:
    table = read(tmp_path, 'n,t\n1,"x"\n')
    assert [table.replace_cell(cell, 7) for cell in table.rows[0]] == ["7", '"7"']
    table = read(tmp_path, '[{"n": 1, "t": "x"}]', "a.json")
    assert [json.loads(table.replace_cell(cell, 7)) for cell in table.rows[0]] == [7, "7"]
    pq.write_table(PARQUET, tmp_path / "a.parquet")
    typed = read_table(tmp_path / "a.parquet")
    assert typed is not None
    assert typed.replace_cell(typed.rows[0][0], 7).type == pa.int8()


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00", exclude_categories=["Cc", "Cs"]), max_size=8)


@given(rows=st.lists(st.tuples(st.integers(), TEXTS, TEXTS), min_size=1, max_size=8))
def test_any_quoted_table_is_read_as_it_was_written(
    rows: list[tuple[Any, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("table")
    quoted = "".join(
        f'{n},"{a.replace(chr(34), chr(34) * 2)}","{b.replace(chr(34), chr(34) * 2)}"\n' for n, a, b in rows
    )
    content = ("number,first text,second text\n" + quoted).encode()
    table = table_of(folder, content)
    if table is not None:  # some texts make the dialect uncertain
        table.write(folder / "b.csv", table.rows)
        assert (folder / "b.csv").read_bytes() == content
