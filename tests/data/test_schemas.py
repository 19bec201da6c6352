"""Schemas: pandera validates the files that they were inferred from, as pandas reads them."""

from __future__ import annotations

import ast
import datetime as dt
import gzip
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pandera.errors
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flyteplugins_codegen.data.pandera import render_schema
from flyteplugins_codegen.data.profile import profile_sample
from flyteplugins_codegen.data.schemas import infer_schema
from flyteplugins_codegen.portable.validator import check_table

WEATHER = Path(__file__).parents[2] / "workflows" / "data" / "seattle-weather.csv"


def assert_holds(path: Path) -> None:
    """Check that the file satisfies its own schema, as it is validated before a run."""
    table = infer_schema(profile_sample(path, "sample"))
    assert table is not None
    assert check_table(path, table.for_validator()) == []


def source_of(path: Path) -> str:
    table = infer_schema(profile_sample(path, "sample"))
    assert table is not None
    return render_schema(table)


def schema_of(path: Path) -> Any:
    """Return the schema object that the rendered source defines."""
    source = source_of(path)
    namespace: dict[str, Any] = {}
    exec(compile(source, "schema.py", "exec"), namespace)  # noqa: S102  running the emitted source is the test
    return namespace["schema"]


def saved(folder: Path, content: str) -> Path:
    (folder / "t.csv").write_text(content)
    return folder / "t.csv"


def test_the_weather_satisfies_its_schema_and_the_other_city_does_too() -> None:
    schema = schema_of(WEATHER)
    schema.validate(pd.read_csv(WEATHER))
    schema.validate(pd.read_csv(WEATHER.with_name("new-york-weather.csv")))


def test_a_schema_refuses_what_the_sample_rules_out() -> None:
    schema, frame = schema_of(WEATHER), pd.read_csv(WEATHER)
    for broken in (
        frame.assign(wind="calm"),
        frame.assign(date=frame["date"].iloc[0]),
        frame.drop(columns="weather"),
        frame.assign(weather=frame["weather"].where(frame.index != 3)),
    ):
        with pytest.raises(pandera.errors.SchemaError):
            schema.validate(broken)
    schema.validate(frame.assign(another=1))


def test_the_rendered_source_is_a_complete_module(tmp_path: Path) -> None:
    source = source_of(WEATHER)
    assert source.startswith("import pandera.pandas as pa\n\nschema = pa.DataFrameSchema(\n")
    (tmp_path / "schema.py").write_text(source)
    program = "import pandas, schema; schema.schema.validate(pandas.read_csv(__import__('sys').argv[1]))"
    subprocess.run(
        [sys.executable, "-c", program, str(WEATHER)],
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )


def test_only_columns_named_like_keys_must_be_unique(tmp_path: Path) -> None:
    path = saved(tmp_path, "order_id,userId,date,amount,paid\n1,7,2020-01-01,5,1.5\n2,8,2020-01-02,6,2.5\n")
    schema = schema_of(path)
    assert [name for name, column in schema.columns.items() if column.unique] == ["order_id", "userId", "date"]
    repeated = saved(tmp_path, "order_id,date\n1,2020-01-01\n1,2020-01-02\n")
    assert [name for name, column in schema_of(repeated).columns.items() if column.unique] == ["date"]


# fmt: off
CELLS = st.sampled_from([
    "1", "-5", "007", "+4", " 3", "1.5", ".5", "1e5", "inf", "nan", "true", "False", "0x1F", "1_000",
    "9223372036854775808", "2020-01-01", "2020-01-01 10:00:00", "12:30", "", "NA", "None", "<NA>", "text", "ünï",
    "a,b", 'q"q', "1,000", "5%",
])
# fmt: on
NAMES = st.sampled_from(
    ["id", "date", "a", "", 'q"q', "it's", "ünï", "a b", "{x}", "\\n", "line\nbreak", " lead", "'''", "#"]
)


@given(st.data())
@settings(max_examples=75, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_csv_satisfies_its_own_schema(tmp_path: Path, data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 4))
    # A line of `#` alone is a comment.
    names = data.draw(
        st.lists(NAMES, min_size=width, max_size=width).filter(lambda names: any(names) and names != ["#"])
    )
    pool = data.draw(st.lists(st.lists(CELLS, min_size=1, max_size=3), min_size=width, max_size=width))
    rows = data.draw(st.lists(st.tuples(*map(st.sampled_from, pool)), max_size=8))
    path = tmp_path / "t.csv"
    pd.DataFrame(rows, columns=range(width), dtype=str).to_csv(path, index=False, header=names)
    schema_of(path).validate(pd.read_csv(path))
    assert_holds(path)


def test_repeated_and_missing_column_names_are_those_of_pandas(tmp_path: Path) -> None:
    path = saved(tmp_path, "a,a,,a.1\n1,x,2.5,true\n2,y,3.5,false\n")
    schema = schema_of(path)
    assert list(schema.columns) == list(pd.read_csv(path).columns)
    schema.validate(pd.read_csv(path))


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_every_type_that_pandas_writes_satisfies_its_schema(suffix: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "id": [1, 2, 3],
            "small": pd.array([1, 2, 3], "int8"),
            "nullable": pd.array([1, None, 3], "Int64"),
            "full": pd.array([1, 2, 3], "Int64"),
            "float": [1.0, None, 3.5],
            "text": ["a", None, "c"],
            "string": pd.array(["a", "b", None], "string"),
            "category": pd.Categorical(["x", "y", "x"]),
            "time": pd.to_datetime(["2020-01-01", "2021-01-01", None]),
            "zoned": pd.to_datetime(["2020-01-01", "2021-01-01", None]).tz_localize("Europe/Berlin"),
            "span": pd.to_timedelta([1, 2, 3], "s"),
            "day": [dt.date(2020, 1, 1)] * 3,
            "money": [Decimal("1.10"), Decimal("2.20"), None],
            "list": [[1], [2], None],
            "flag": [True, False, True],
            "maybe": [True, None, False],
            "nothing": [None, None, None],
        }
    )
    path = tmp_path / f"t.{suffix}"
    getattr(frame, f"to_{suffix}")(path)
    read = getattr(pd, f"read_{suffix}")(path)
    schema = schema_of(path)
    schema.validate(read)
    assert_holds(path)
    claimed = {name for name, column in schema.columns.items() if column.dtype is not None}
    assert claimed == {"id", "small", "float", "text", "category", "time", "zoned", "span", "flag"}


def test_an_index_that_pandas_wrote_may_be_an_index(tmp_path: Path) -> None:
    pd.DataFrame({"v": [1, 2]}, index=pd.Index([5, 6], name="key")).to_parquet(tmp_path / "t.parquet")
    schema = schema_of(tmp_path / "t.parquet")
    schema.validate(pd.read_parquet(tmp_path / "t.parquet"))
    schema.validate(pd.read_parquet(tmp_path / "t.parquet").reset_index())


@pytest.mark.parametrize("lines", [True, False])
def test_json_satisfies_its_schema_however_pandas_reads_it(lines: bool, tmp_path: Path) -> None:  # noqa: FBT001  a case
    frame = pd.DataFrame(
        {
            "id": [1, 2],
            "date": ["2020-01-01", "2020-01-02"],
            "digits": ["01", "02"],
            "whole": [1.0, 2.0],
            "real": [1.5, None],
        }
    )
    path = tmp_path / ("t.jsonl" if lines else "t.json")
    frame.assign(created_at=5, flag=[True, False], nested=[[1], {"a": 2}]).to_json(path, orient="records", lines=lines)
    schema = schema_of(path)
    schema.validate(pd.read_json(path, lines=lines))
    assert_holds(path)
    assert str(schema.columns["id"].dtype) == "int64"


def test_a_header_without_rows_gives_only_the_names(tmp_path: Path) -> None:
    path = saved(tmp_path, "id,name\n")
    schema = schema_of(path)
    schema.validate(pd.read_csv(path))
    schema.validate(pd.DataFrame({"id": [1], "name": ["x"]}))


def test_ragged_rows_and_samples_without_columns_have_no_schema(tmp_path: Path) -> None:
    assert infer_schema(profile_sample(saved(tmp_path, "a,b\n1,2\n3,4\n5\n"), "s")) is None
    (tmp_path / "t.log").write_text("started\n")
    assert infer_schema(profile_sample(tmp_path / "t.log", "s")) is None


@pytest.mark.parametrize(
    "name",
    ['"); import os  #', "'''", '"""', "\\", "a\\'b", "\r", "\u2028", "\u202e", "{0}", "%s", "\ud7ff", "x" * 300],
)
def test_a_hostile_column_name_is_only_a_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({name: [1]}).to_parquet(path)
    source = source_of(path)
    keys = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    assert name in keys
    assert source.isprintable() or all(line.isprintable() for line in source.split("\n"))
    schema_of(path).validate(pd.read_parquet(path))


TABLES = {
    "semicolons": b"id;amount\n1;2,5\n2;3,5\n",
    "pipes": b"id|amount\n1|2.5\n2|3.5\n",
    "single quotes": b"id,name\n1,'a,b'\n2,'c'\n",
    "no header": b"1,2.5,paid\n2,3.5,open\n3,4.5,paid\n",
    "latin-1": "größe,n\nä,1\nö,2\n".encode("latin-1"),
    "UTF-16": "id,n\n1,ä\n2,ö\n".encode("utf-16"),
    "gzip": gzip.compress(b"id,n\n1,a\n2,b\n"),
    "dates": b"day,at\n2024-01-01,2024-01-01 10:00:00\n2024-01-02,2024-01-02T10:00:00Z\n",
    "dates of a country": b"day,n\n31/12/2023,1\n01/02/2024,2\n",
    "comments before the header": b"# made by hand\nid,n\n1,2\n3,4\n",
    "blanks": b"id , n\n 1, 2\n 3, x\n",
    "numbers with signs": b"a,b,c\n+1,1e3,0x1F\n-2,.5,7\n",
    "huge numbers": b"a,b\n9223372036854775808,1e400\n1,2\n",
    "one column": b"n\n1\n\n2\n",
}


@pytest.mark.parametrize("form", TABLES)
def test_every_form_of_a_table_satisfies_its_own_schema(form: str, tmp_path: Path) -> None:
    path = tmp_path / ("t.csv.gz" if form == "gzip" else "t.csv")
    path.write_bytes(TABLES[form])
    table = infer_schema(profile_sample(path, "sample"))
    if table is not None:
        assert check_table(path, table.for_validator()) == []
