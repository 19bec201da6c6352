"""Which format a file is read as, what is refused, and what is noted."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.data.formats import looks_like_table, sniff_dialect
from flyteplugins_codegen.data.profile import profile_sample
from flyteplugins_codegen.errors import SampleError
from flyteplugins_codegen.models.data import SampleProfile

TABLE = pa.table({"n": [1, 2, 3], "t": ["x", "y", None]})


def profile_of(folder: Path, file_name: str, content: str | bytes) -> SampleProfile:
    path = folder / file_name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return profile_sample(path, "sample")


def types_of(profile: SampleProfile) -> dict[str, str]:
    return {column.name: column.arrow_type for column in profile.columns.values()}


def written(kind: str, path: Path) -> Path:
    if kind == "parquet":
        pq.write_table(TABLE, path)
    elif kind == "arrow":
        with pa.ipc.new_file(path, TABLE.schema) as writer:
            writer.write_table(TABLE)
    else:
        with pa.ipc.new_stream(path, TABLE.schema) as writer:
            writer.write_table(TABLE)
    return path


@pytest.mark.parametrize(
    ("file_name", "content", "form"),
    [
        ("a.csv", "n,t\n1,x\n2,y\n3,\n", "csv"),
        ("a.csv", "n;t\n1;x\n2;y\n3;\n", "csv"),
        ("a.csv", "n|t\r\n1|x\r\n2|y\r\n3|\r\n", "csv"),
        ("a.tsv", "n\tt\n1\tx\n2\ty\n3\t\n", "csv"),
        ("a.csv", b"\xef\xbb\xbfn,t\n1,x\n2,y\n3,NA\n", "csv"),
        ("a.csv", "n,t\n1,x\n2,y\n3,\n".encode("utf-16"), "csv"),
        ("a.txt", "n,t\n1,x\n2,y\n3,\n", "csv"),
        ("no_extension", "n;t\n1;x\n2;y\n3;\n", "csv"),
        ("a.json", '[{"n": 1, "t": "x"}, {"n": 2, "t": "y"}, {"n": 3}]', "json"),
        ("a.jsonl", '{"n": 1, "t": "x"}\n{"n": 2, "t": "y"}\n\n{"n": 3, "t": null}\n', "jsonl"),
        ("a.json", '{"n": 1, "t": "x"}\n{"n": 2, "t": "y"}\n{"n": 3}\n', "jsonl"),
    ],
)
def test_text_formats_are_recognised_and_read(file_name: str, content: str | bytes, form: str, tmp_path: Path) -> None:
    profile = profile_of(tmp_path, file_name, content)
    assert profile.format == form
    assert types_of(profile) == {"n": "int64", "t": "string"}
    assert [row["n"] for row in profile.sample_rows] == [1, 2, 3]
    assert [row["t"] for row in profile.sample_rows] == ["x", "y", None]


@pytest.mark.parametrize(
    ("kind", "file_name"),
    [
        ("parquet", "a.parquet"),
        ("parquet", "noext"),
        ("arrow", "a.arrow"),
        ("arrow", "a.feather"),
        ("stream", "a.arrow"),
    ],
)
def test_binary_formats_are_recognised_by_their_signature(kind: str, file_name: str, tmp_path: Path) -> None:
    profile = profile_sample(written(kind, tmp_path / file_name), "sample")
    assert profile.format == ("parquet" if kind == "parquet" else "arrow")
    assert [row["t"] for row in profile.sample_rows] == ["x", "y", None]


def test_feather_as_pandas_writes_it_is_read(tmp_path: Path) -> None:
    TABLE.to_pandas().to_feather(tmp_path / "a.feather")
    assert profile_sample(tmp_path / "a.feather", "sample").row_count == 3


@pytest.mark.parametrize(
    ("file_name", "content", "claimed", "found"),
    [
        ("a.csv", b"\x00\x01\x02\x03", ".csv", "binary data"),
        ("a.csv", b"PAR1....PAR1", ".csv", "Parquet"),
        ("a.csv", b"PK\x03\x04....", ".csv", "a zip archive"),
        ("a.csv", b"%PDF-1.4 \x00", ".csv", "Adobe Portable Document Format"),
        ("a.csv", b'[{"a": 1}]', ".csv", "JSON"),
        ("a.csv", b"<!DOCTYPE html>\n<html>", ".csv", "a web page or XML"),
        ("a.csv", b"n,t\n1,x\n" * 3_000 + b"\x00", ".csv", "binary data"),
        ("a.parquet", b"a,b\n1,2\n", ".parquet", "text"),
        ("a.PARQUET", b"ARROW1..", ".PARQUET", "Arrow"),
        ("a.feather", b"PAR1....", ".feather", "Parquet"),
        ("a.json", b"a,b\n1,2\n", ".json", "other text"),
        ("a.jsonl", b"\x89PNG\r\n\x1a\n", ".jsonl", "Portable Network Graphics"),
    ],
)
def test_a_file_whose_content_contradicts_its_extension_is_refused(
    file_name: str, content: bytes, claimed: str, found: str, tmp_path: Path
) -> None:
    with pytest.raises(SampleError) as caught:
        profile_of(tmp_path, file_name, content)
    message = str(caught.value)
    assert message.startswith(
        f"sample 'sample': {tmp_path / file_name} is called {claimed}, but its content is {found}"
    )
    assert "pass the right file" in message


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
def test_a_file_that_was_cut_off_is_refused(kind: str, tmp_path: Path) -> None:
    path = written(kind, tmp_path / f"a.{'parquet' if kind == 'parquet' else 'arrow'}")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(SampleError, match=r"sample 'sample': .* cannot be read as (Parquet|Arrow).*copy it again"):
        profile_sample(path, "sample")


@pytest.mark.parametrize(
    ("file_name", "content", "fault"),
    [
        ("a.csv", " \n\n\n", "holds nothing but blank lines"),
        ("a.csv", "\ufeff\n", "holds nothing but blank lines"),
        ("a.csv", "a" * 200_000 + "\n1\n", "begins with no row of CSV"),
        ("a.csv", "a,b\n1\n2\n3\n", r"is no table: 3 rows have not the header's 2 fields \(first: row 2, .*with 1\)"),
        ("a.json", '[{"a": 1},', "is no JSON: at character 11: Expecting value"),
        ("a.json", '[{"a": 1}, {"a" 2}]', "is no JSON: at character 17: Expecting ':' delimiter"),
        ("a.json", '[{"a": 1} {"a": 2}]', "expected ',' or '\\]' between elements"),
        ("a.json", '[{"a": 1}] [', "nothing after the last"),
        ("a.json", '{"a": ', "is no JSON .*line 1 column 7"),
        ("a.json", "[" * 100_000, "is no JSON"),
        ("a.jsonl", '{"a": 1}\n{"a": \n', "is no JSON Lines: line 2 is no JSON"),
    ],
)
def test_the_error_for_an_unreadable_file_names_the_fault_and_its_position(
    file_name: str, content: str, fault: str, tmp_path: Path
) -> None:
    csv.field_size_limit(128 * 1024)  # Python's own, which a validator in this process may have raised
    with pytest.raises(SampleError, match=f"sample 'sample': .*{fault}.*; (repair|pass)"):
        profile_of(tmp_path, file_name, content)


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "\n\na,b\r\n"])
def test_a_header_without_rows_is_noted(content: str, tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "a.csv", content)
    assert (list(types_of(profile)), profile.row_count, profile.notes) == (["a", "b"], 0, ("a header and no rows",))


def test_a_few_ragged_rows_are_skipped_counted_and_located(tmp_path: Path) -> None:
    rows = ["a,b", *(f"{number},{number}" for number in range(50)), "1,2,3", "5", "7,8"]
    profile = profile_of(tmp_path, "a.csv", "\n".join(rows) + "\n")
    assert (profile.row_count, profile.skipped_row_count) == (51, 2)
    assert profile.notes == (
        "2 rows have not the header's 2 fields (first: row 52, counting the header, with 3); left out here",
    )


def test_other_encodings_are_read_and_named(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "a.csv", "name\nJosé\nZoë\n".encode("latin-1"))
    assert profile.sample_rows == ({"name": "José"}, {"name": "Zoë"})
    assert profile.notes == ("not UTF-8: read it with encoding='latin-1'",)


def test_a_byte_of_another_encoding_far_down_is_found(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "a.csv", b"name\n" + b"plain\n" * 500_000 + b"Jos\xe9\n")
    assert profile.columns["name"].top_values == (("plain", 500_000), ("José", 1))


def test_columns_have_the_names_that_pandas_gives_them(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,a.1,a,,"x, y",a\n1,2,3,4,5,6\n')
    profile = profile_sample(path, "sample")
    assert list(types_of(profile)) == list(pd.read_csv(path).columns)
    assert len(profile.notes) == 2


@pytest.mark.parametrize("content", ["1,2\n3,4\n", "1,2.5,a\n3,4.5,b\n", "1,ann@acme.org\n2,bob@acme.org\n"])
def test_a_file_without_a_header_is_noted(content: str, tmp_path: Path) -> None:
    assert "looks like data" in profile_of(tmp_path, "a.csv", content).notes[0]


def test_years_and_days_are_valid_column_names(tmp_path: Path) -> None:
    assert profile_of(tmp_path, "a.csv", "land,2023,2024-01-01,v1.5\nx,1,2,3\n").notes == ()


@pytest.mark.parametrize(
    ("first", "last", "kind"),
    [
        ("1", "1.5", "double"),
        ("1", "x", "string"),
        ("2020-01-01", "2020-01-02 10:00:00", "timestamp[ns]"),
        ("", "7", "int64"),
    ],
)
def test_a_type_that_changes_millions_of_bytes_down_is_found(first: str, last: str, kind: str, tmp_path: Path) -> None:
    row_count = 3_000_000 // (len(first) + 3)
    profile = profile_of(tmp_path, "a.csv", "v,n\n" + f"{first},1\n" * row_count + f"{last},2\n")
    assert types_of(profile) == {"v": kind, "n": "int64"}
    assert profile.row_count == row_count + 1
    assert profile.columns["n"].top_values == ((1, row_count), (2, 1))


def test_quoted_newlines_and_delimiters_stay_in_their_value(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "a.csv", 'a,b\n"x\ny, z",1\n"""q""",2\n')
    assert [row["a"] for row in profile.sample_rows] == ["x\ny, z", '"q"']


def test_hexadecimal_numbers_stay_text_as_in_pandas(tmp_path: Path) -> None:
    assert types_of(profile_of(tmp_path, "a.csv", "a,b\n0x1F,1\n0x2,2\n")) == {"a": "string", "b": "int64"}


def test_json_columns_of_mixed_and_nested_values_have_types_that_say_so(tmp_path: Path) -> None:
    records = [{"m": 1, "l": [1, 2], "o": {"a": 1}, "f": 1}, {"m": "x", "l": None, "f": 2.5, "late": True}]
    profile = profile_of(tmp_path, "a.json", json.dumps(records))
    assert types_of(profile) == {"m": "mixed", "l": "list", "o": "object", "f": "double", "late": "bool"}
    assert profile.sample_rows[0] == {"m": "1", "l": "[1, 2]", "o": '{"a": 1}', "f": 1.0, "late": None}
    assert profile.notes == ("column 'm' holds values of several types: int, text",)


def test_a_long_json_array_is_read_piece_by_piece(tmp_path: Path) -> None:
    records = [{"number": number, "text": 'é"\\]}' * 30} for number in range(20_000)]
    profile = profile_of(tmp_path, "a.json", json.dumps(records, ensure_ascii=False, indent=1))
    assert profile.row_count == 20_000
    assert (profile.columns["number"].maximum, profile.columns["text"].distinct_count) == (19_999, 1)


@pytest.mark.parametrize("content", ['{"a": {"b": [1]}}', "[1, 2]", "[]", '[{"a": 1}, 2]'])
def test_json_that_is_not_a_table_has_an_excerpt(content: str, tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "a.json", content)
    assert (profile.columns, profile.text_excerpt) == ({}, content)
    assert profile.notes == ("a JSON document, no list of records",)


def test_text_has_a_line_count_and_an_excerpt(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "a.log", "started\n" * 1000)
    assert (profile.format, profile.row_count, profile.columns) == ("text", 1000, {})
    assert profile.text_excerpt is not None
    assert profile.text_excerpt.startswith("started\nstarted\n")
    assert profile.text_excerpt.endswith("characters)")
    assert len(profile.text_excerpt) < 1600


def test_prose_with_commas_is_not_a_table(tmp_path: Path) -> None:
    assert profile_of(tmp_path, "a.txt", "Dear all, hello\nSee you, soon\n").format == "text"


@pytest.mark.parametrize(
    ("file_name", "kind", "start"),
    [
        ("a.png", "Portable Network Graphics file", b"\x89PNG\r\n\x1a\n"),
        ("a.db", "SQLite database file", b"SQLite format 3\x00"),
        ("a.bin", "binary data", b"\x00\x01"),
    ],
)
def test_other_files_are_identified_by_their_first_bytes(
    file_name: str, kind: str, start: bytes, tmp_path: Path
) -> None:
    profile = profile_of(tmp_path, file_name, start)
    assert (profile.format, profile.row_count) == ("binary", None)
    assert profile.notes == (f"its content is {kind}; its first bytes, in hexadecimal: {start.hex(' ')}",)


@given(
    st.sampled_from(",;\t|"),
    st.integers(2, 5),
    st.lists(st.text(alphabet="abc 12.", max_size=5), min_size=10, max_size=30),
)
def test_the_delimiter_that_wrote_a_table_is_found(delimiter: str, width: int, cells: list[str]) -> None:
    rows = [cells[start : start + width] for start in range(0, len(cells) - width + 1, width)]
    head = [[f"c{number}" for number in range(width)], *rows]
    text = "".join(delimiter.join(row) + "\n" for row in head)
    assert sniff_dialect(text).delimiter == delimiter
    assert looks_like_table(text)
