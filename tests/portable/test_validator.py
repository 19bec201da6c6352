"""Checking files against schemas: flaws and their rows, the memory used, and agreement with Pandera."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import json
import subprocess
import sys
import tracemalloc
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pandera.errors
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flyteplugins_codegen.data.csv import _NULLS
from flyteplugins_codegen.data.pandera import render_schema
from flyteplugins_codegen.models.data import ColumnSchema, Rule, TableSchema
from flyteplugins_codegen.portable import validator
from flyteplugins_codegen.portable.validator import UnreadableError, check_table, describe


def schema(*rules: Rule, columns: tuple[ColumnSchema, ...] = ()) -> dict[str, Any]:
    return TableSchema(columns=columns, rules=rules).for_validator()


def sentences(path: Path, wanted: dict[str, Any]) -> list[str]:
    return [describe("t", flaw) for flaw in check_table(path, wanted)]


def saved(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


INTEGER = ColumnSchema(name="n", type="integer", is_nullable=False)


def test_a_violation_names_column_check_count_and_first_rows(tmp_path: Path) -> None:
    path = saved(tmp_path, "n,s\n1,a\nx,b\n,c\n2.5,d\n")
    assert sentences(path, schema(columns=(INTEGER,))) == [
        "t: column 'n' must be of type integer: 2 rows break this (row 2: 'x', row 4: '2.5')",
        "t: column 'n' must be not null: 1 row breaks this (row 3: None)",
    ]


def test_only_the_first_rows_are_reported_and_long_cells_are_cut(tmp_path: Path) -> None:
    path = saved(tmp_path, "n\n" + f"{'x' * 100}\n" * 50)
    (flaw,) = check_table(path, schema(columns=(INTEGER,)))
    assert (flaw.row_count, [number for number, _ in flaw.rows]) == (50, [1, 2, 3, 4, 5])
    assert "(102 characters)" in flaw.rows[0][1]


def test_a_missing_column_is_reported_with_a_similar_one(tmp_path: Path) -> None:
    path = saved(tmp_path, "N ,s\n1,a\n")
    assert sentences(path, schema(columns=(INTEGER,))) == ["t: column 'n' is missing; did you mean 'N '?"]
    assert not sentences(path, schema(columns=(INTEGER.model_copy(update={"is_required": False}),)))


RULES = {
    Rule(column="n", kind="range", minimum=0, excludes_minimum=True): ("1", "0"),
    Rule(column="n", kind="range", minimum=0, maximum=1.5): ("1.5", "2"),
    Rule(column="n", kind="range", minimum="2020-01-01", maximum="2020-12-31"): ("2020-12-31T23:00", "2021-01-01"),
    Rule(column="n", kind="range", maximum="2020-01-01T12:00"): ("2020-01-01 12:00", "2020-01-01T12:01Z"),
    Rule(column="n", kind="one_of", values=("A", "1")): ("1.0", "B"),
    Rule(column="n", kind="none_of", values=("0",)): ("1", "0.0"),
    Rule(column="n", kind="matches", pattern="[a-z]+"): ("abc", "abc1"),
    Rule(column="n", kind="length", maximum=3): ("abc", "abcd"),
    Rule(column="n", kind="not_null"): ("x", "NA"),
    Rule(column="n", kind="type", type="boolean"): ("yes", "maybe"),
    Rule(column="n", kind="type", type="time"): ("2020-02-29 10:00:00.5+0200", "2021-02-29"),
    Rule(column="n", kind="type", type="integer"): ("18.0", "18.5"),
    Rule(column="n", kind="type", type="number"): (" 1e5", "1_000"),
    Rule(column="n", kind="order", comparison=">", other_column="s"): ("10", "9"),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.kind} {rule.text}")
def test_each_rule_accepts_valid_and_rejects_invalid_cells(rule: Rule, tmp_path: Path) -> None:
    good, bad = RULES[rule]
    assert not sentences(saved(tmp_path, f"n,s\n{good},9\n"), schema(rule))
    (flaw,) = check_table(saved(tmp_path, f"n,s\n{good},9\n{bad},9\n"), schema(rule))
    assert (flaw.check, flaw.row_count, flaw.rows[0][0]) == (rule.text, 1, 2)


def test_an_open_range_stays_open_and_nulls_satisfy_all_but_not_null(tmp_path: Path) -> None:
    rules = [rule for rule in RULES if rule.kind != "not_null"]
    assert not sentences(saved(tmp_path, "n,s\n,\nnan,\n"), schema(*rules))
    assert not sentences(saved(tmp_path, "n\n1e308\n"), schema(Rule(column="n", kind="range", minimum=0)))


def test_repeated_values_are_found_however_far_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validator, "_CHUNK_ROWS", 100)
    monkeypatch.setattr(validator, "_KEYS_A_PART", 64)
    rows = [*range(1000), 7, 999, 7]
    path = saved(tmp_path, "n\n" + "".join(f"k{row}\n" for row in rows) + "\n\n")
    (flaw,) = check_table(path, schema(Rule(column="n", kind="unique")))
    assert flaw.row_count == 3
    assert flaw.rows[0] == (1001, "'k7' again, first in row 8")


DELIMITED = {
    "semicolons": "n;a,b\n1;x\nz;y\n",
    "tabs": "n\ta\n1\tx\nz\ty\n",
    "quoted delimiters and line ends": 'n,a\n1,"x,\ny"\nz,"""q"""\n',
    "a byte order mark": "\ufeffn,a\n1,x\nz,y\n",
    "windows lines": "n,a\r\n1,x\r\n\r\nz,y\r\n",
}


@pytest.mark.parametrize("form", DELIMITED)
def test_delimited_text_is_read_however_it_is_written(form: str, tmp_path: Path) -> None:
    for data in (DELIMITED[form].encode(), DELIMITED[form].encode("utf-16"), gzip.compress(DELIMITED[form].encode())):
        (flaw,) = check_table(saved(tmp_path, data, "t"), schema(columns=(INTEGER,)))
        assert flaw.rows == ((2, "'z'"),)


def test_latin_1_is_read(tmp_path: Path) -> None:
    path = saved(tmp_path, "größe\n1\nx\n".encode("latin-1"))
    (flaw,) = check_table(path, schema(Rule(column="größe", kind="range", minimum=0)))
    assert flaw.rows == ((2, "'x'"),)


RECORDS = [{"n": 1, "a": "x"}, {"n": True, "a": {"b": [1]}}, {"n": "3"}, {"n": None}, {"n": 4.0}]


@pytest.mark.parametrize("is_lines", [True, False], ids=["lines", "list"])
def test_json_keeps_numbers_texts_and_bools_apart(is_lines: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a case
    text = "\n".join(map(json.dumps, RECORDS)) if is_lines else json.dumps(RECORDS, indent=1)
    for data in (text.encode(), bz2.compress(text.encode())):
        (flaw,) = check_table(saved(tmp_path, data, "t"), schema(columns=(ColumnSchema(name="n", type="number"),)))
        assert flaw.rows == ((2, "'True'"),)


def test_a_document_of_many_lines_takes_no_longer_than_its_length(tmp_path: Path) -> None:
    text = json.dumps([{"n": 1, "deep": list(range(60_000))}, {"n": "x"}], indent=1)
    (flaw,) = check_table(saved(tmp_path, text, "t"), schema(columns=(ColumnSchema(name="n", type="number"),)))
    assert flaw.rows == ((2, "'x'"),)


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_typed_files_are_checked_by_their_values(suffix: str, tmp_path: Path) -> None:
    day = dt.date(2020, 5, 1)
    frame = pd.DataFrame(
        {
            "n": [1, 2, 3],
            "money": [Decimal("1.10"), Decimal("-2.20"), None],
            "day": [day, day, None],
            "at": pd.to_datetime(["2020-01-01", "2021-01-02", None]).tz_localize("Europe/Berlin"),
            "list": [[1], [2], None],
            "kind": pd.Categorical(["x", "y", "x"]),
        }
    )
    getattr(frame, f"to_{suffix}")(tmp_path / "t")
    rules = [
        Rule(column="money", kind="range", minimum=0),
        Rule(column="day", kind="range", minimum="2020-05-02"),
        Rule(column="at", kind="range", maximum="2020-12-31"),
        Rule(column="kind", kind="one_of", values=("x",)),
        Rule(column="list", kind="unique"),
    ]
    found = {flaw.column: [number for number, _ in flaw.rows] for flaw in check_table(tmp_path / "t", schema(*rules))}
    assert found == {"money": [2], "day": [1, 2], "at": [2], "kind": [2]}


def test_a_folder_of_parts_is_one_table(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    saved(folder, "n\n1\n2\n", "a.csv")
    saved(folder, "n\n2\n", "b.csv")
    saved(folder, "nothing", "_SUCCESS")
    (flaw,) = check_table(folder, schema(Rule(column="n", kind="unique")))
    assert flaw.rows == ((3, "'2' again, first in row 2"),)


BAD = {
    "a truncated gzip": gzip.compress(b"n\n" + b"1\n" * 5000)[:40],
    "a truncated Parquet": b"PAR1 cut off",
    "binary": b"n\n\0\1\2",
    "a zip": b"PK\x03\x04rest",
    "broken JSON": b'[{"n": 1}, {"n": ',
    "a line without an end": b"n\n" + b"x" * (1 << 24),
}


@pytest.mark.parametrize("kind", BAD)
def test_an_unreadable_file_is_reported_and_does_not_pass(kind: str, tmp_path: Path) -> None:
    path = saved(tmp_path, BAD[kind], "t")
    with pytest.raises(UnreadableError):
        check_table(path, schema(columns=(INTEGER,)))


def test_ragged_rows_are_reported_and_not_misread(tmp_path: Path) -> None:
    path = saved(tmp_path, "n,s\n1,a\n2\n3,a,b\n4,d\n")
    (flaw,) = check_table(path, schema(columns=(INTEGER,)))
    assert (flaw.check, flaw.rows) == ("a row as long as the header", ((2, "1 cells"), (3, "3 cells")))


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    path = saved(tmp_path, "n,s\n" + "".join(f"{row},text number {row}\n" for row in range(200_000)))
    wanted = schema(
        Rule(column="s", kind="length", maximum=30), columns=(INTEGER.model_copy(update={"is_unique": True}),)
    )
    tracemalloc.start()
    assert not check_table(path, wanted)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 << 20


def test_nulls_are_those_of_the_profile() -> None:
    assert frozenset(_NULLS) == validator.NULLS


def test_it_runs_with_nothing_installed(tmp_path: Path) -> None:
    path = saved(tmp_path, "n\nx\n")
    program = (
        "import sys, json, pathlib; sys.path.insert(0, sys.argv[1]); import validator\n"
        "print(validator.check_folder(json.loads(sys.argv[3]), pathlib.Path(sys.argv[2])))"
    )
    place = str(Path(validator.__file__).parent)
    wanted = json.dumps({"t.csv": schema(columns=(INTEGER,))})
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, place, str(path.parent), wanted],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "must be of type integer" in ran.stdout


# Typed columns, so that both readers see the same values.
CELLS = {
    "int64": st.integers(-5, 5),
    "float64": st.sampled_from([-1.5, 0.0, 2.5, 3.0, None]),
    "str": st.sampled_from(["A", "B", "ab", "10", "", None]),
}
BOUNDS = st.integers(-3, 3)


@st.composite
def rules_of(draw: st.DrawFn, kind: str) -> Rule:
    chosen = draw(st.sampled_from(["range", "one_of", "none_of", "not_null", "unique", "order", "matches", "length"]))
    if chosen in {"range", "length"}:
        low, high = sorted((draw(BOUNDS), draw(BOUNDS)))
        ends = {"excludes_minimum": draw(st.booleans()), "excludes_maximum": draw(st.booleans())}
        chosen = "length" if kind == "str" else "range"
        return Rule(column="n", kind=chosen, minimum=draw(st.sampled_from([low, None])), maximum=high, **ends)
    values = draw(st.lists(st.sampled_from(["A", "ab", "0", "2.5", "3"]), min_size=1, max_size=3))
    sign = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
    fields = {"one_of": {"values": values}, "none_of": {"values": values}, "matches": {"pattern": "[A-Z0-9.]+"}}
    fields["order"] = {"comparison": sign, "other_column": "other"}
    return Rule.model_validate({"column": "n", "kind": chosen, **fields.get(chosen, {})})


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_the_emitted_pandera_schema_gives_the_same_verdict(tmp_path: Path, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(CELLS)))
    rule = data.draw(rules_of(kind))
    rows = data.draw(st.lists(st.tuples(CELLS[kind], CELLS[kind]), min_size=1, max_size=6))
    frame = pd.DataFrame(rows, columns=["n", "other"]).astype({"n": kind, "other": kind} if kind != "str" else {})
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    column = ColumnSchema(name="n", type={"int64": "integer", "float64": "number", "str": "text"}[kind])
    table = TableSchema(columns=(column,), rules=(rule,))
    namespace: dict[str, Any] = {}
    exec(compile(render_schema(table), "schema.py", "exec"), namespace)  # noqa: S102 - running the source is the test
    try:
        namespace["schema"].validate(pd.read_parquet(path))
        is_valid = True
    except pandera.errors.SchemaError:
        is_valid = False
    assert is_valid == (not check_table(path, table.for_validator())), render_schema(table)
