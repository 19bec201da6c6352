"""Every statistic of a profile, compared with pandas on random tables, in memory and as a stream."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flyteplugins_codegen.data import profile_sample, summary
from flyteplugins_codegen.models.data import ColumnProfile, SampleProfile

WAYS = ("in memory", "in a stream")
QUARTERS = (0.25, 0.5, 0.75)

floats = st.floats(-1e9, 1e9).map(lambda value: round(value, 4))
texts = st.sampled_from(["", " ", "a", "Ab-12", "x y", " padded", "end\t", "Ä9", "12", "3.5", "true", "2024-01-31"])
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "int64": st.integers(-(2**53), 2**53),
    "int8": st.integers(-128, 127),
    "uint64": st.integers(0, 2**62),
    "float64": floats | st.just(float("nan")),
    "float32": st.floats(-1000, 1000, width=32),
    "bool": st.booleans(),
    "string": texts | st.text(max_size=6).filter(lambda text: text.isprintable()),
    "timestamp[us]": st.integers(0, 2**50),
    "timestamp[ns, tz=UTC]": st.integers(0, 2**60),
    "date32": st.integers(0, 30_000),
    "few": st.integers(0, 3),
}
TYPES = {"few": pa.int64(), "date32": pa.date32(), "timestamp[us]": pa.timestamp("us")}
TYPES |= {"timestamp[ns, tz=UTC]": pa.timestamp("ns", "UTC"), "float64": pa.float64(), "float32": pa.float32()}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=5))
    height = draw(st.integers(1, 40))
    columns = {}
    for number, kind in enumerate(kinds):
        values = draw(st.lists(KINDS[kind] | st.none(), min_size=height, max_size=height))
        stored = pa.array(values, TYPES.get(kind) or pa.type_for_alias(kind))
        columns[f"{kind} {number}"] = stored
    return pa.table(columns)


def profiled(table: pa.Table, way: str) -> SampleProfile:
    with pytest.MonkeyPatch.context() as patch:
        if way == "in a stream":
            patch.setattr(summary, "WHOLE_BYTES", -1)
        rows = max(7, table.num_rows // 10)
        return profile_sample(pa.Table.from_batches(table.to_batches(max_chunksize=rows), table.schema), "t")


def numbers_of(array: pa.ChunkedArray) -> pd.Series:
    """Return the column as a pandas series; dates and times as the integers that they are stored as."""
    kind = array.type
    if pa.types.is_date32(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_temporal(kind):
        array = array.cast(pa.int64())
    values = [known(value) for value in array.to_pylist()]
    return pd.Series(values, dtype=object).dropna()


def known(value: Any) -> Any:
    """None for NaN, and one zero instead of two."""
    if not isinstance(value, float):
        return value
    return None if math.isnan(value) else value + 0.0


def check_counts(column: ColumnProfile, valid: pd.Series, height: int) -> None:
    assert column.null_count == height - len(valid)
    assert column.distinct_count == valid.nunique()
    assert column.is_unique == (len(valid) == height and valid.is_unique) or "distinct_count" in column.approximate
    assert column.is_constant == (len(valid) == height and len(set(valid)) == 1)
    if column.top_values:
        counts = sorted(valid.value_counts(), reverse=True)[: len(column.top_values)]
        assert [count for _, count in column.top_values] == counts


def check_numbers(column: ColumnProfile, valid: pd.Series) -> None:
    plain = valid.astype(float)
    assert column.minimum == pytest.approx(valid.min())
    assert column.maximum == pytest.approx(valid.max())
    assert column.mean == pytest.approx(plain.mean(), rel=1e-9, abs=1e-6)
    if len(plain) > 1:
        assert column.deviation == pytest.approx(plain.std(), rel=1e-6, abs=1e-5)
    else:
        assert column.deviation is None
    quartiles = np.quantile(plain, QUARTERS)
    assert column.quartiles == pytest.approx(tuple(quartiles), rel=1e-9, abs=1e-6)
    reach = 3 * (quartiles[2] - quartiles[0])
    if reach:
        outside = (plain < quartiles[0] - reach) | (plain > quartiles[2] + reach)
        assert column.outlier_count == outside.sum()


def check_texts(column: ColumnProfile, valid: pd.Series) -> None:
    assert column.text is not None
    lengths = valid.str.len()
    assert (column.text.shortest, column.text.longest) == (lengths.min(), lengths.max())
    assert column.text.mean_length == pytest.approx(lengths.mean())
    assert column.text.empty_count == (valid.str.strip() == "").sum()
    assert column.text.padded_count == (valid.str.strip() != valid).sum()
    kinds = dict(column.text.kinds)
    stripped = valid.str.strip()
    assert kinds.get("whole number", 0) == stripped.str.fullmatch(r"[+-]?[0-9]+").sum()
    assert kinds.get("true or false", 0) == stripped.str.lower().isin(["true", "false", "yes", "no"]).sum()
    assert sum(kinds.values()) == len(valid) - column.text.empty_count
    assert (column.minimum, column.maximum) == (min(valid, key=str.encode), max(valid, key=str.encode))


@pytest.mark.parametrize("way", WAYS)
@given(table=tables())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_profile_of_any_table_matches_pandas(way: str, table: pa.Table) -> None:
    profile = profiled(table, way)
    assert profile.row_count == table.num_rows
    for name, column in profile.columns.items():
        kind = table.schema.field(name).type
        valid = numbers_of(table[name])
        if way == "in memory" or "distinct_count" not in column.approximate:
            check_counts(column, valid, table.num_rows)
        if valid.empty:
            assert (column.minimum, column.maximum, column.mean, column.text) == (None, None, None, None)
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            check_numbers(column, valid)
        elif pa.types.is_string(kind):
            check_texts(column, valid)


@given(table=tables())
@settings(max_examples=60, deadline=None)
def test_rows_and_keys_are_compared_as_pandas_compares_them(table: pa.Table) -> None:
    profile = profiled(table, "in memory")
    # As texts, since pandas takes NaN and None for two values.
    frame = pd.DataFrame({name: [repr(known(v)) for v in table[name].to_pylist()] for name in table.schema.names})
    assert profile.duplicate_row_count == frame.duplicated().sum()
    for key in profile.candidate_keys:
        assert not frame.duplicated(subset=list(key)).any()
    for left, right in profile.mirrors:
        assert len(frame[[left, right]].drop_duplicates()) == frame[left].nunique() == frame[right].nunique()


@given(table=tables())
@settings(max_examples=40, deadline=None)
def test_both_ways_agree_where_they_are_exact(table: pa.Table) -> None:
    whole, streamed = profiled(table, "in memory"), profiled(table, "in a stream")
    assert whole.sample_rows == streamed.sample_rows
    for name, column in whole.columns.items():
        other = streamed.columns[name]
        assert (column.minimum, column.maximum, column.null_count) == (other.minimum, other.maximum, other.null_count)
        assert (column.quartiles, column.text) == (other.quartiles, other.text)  # all rows are among those kept
        assert column.mean == other.mean or math.isclose(column.mean or 0, other.mean or 0, rel_tol=1e-9, abs_tol=1e-9)


def large(seed: int = 5, height: int = 200_000) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "number": random.gamma(2, 40, height),
            "category": random.choice(["a", "b", "c"], height, p=[0.7, 0.2999, 0.0001]),
            "key": [f"K{number:07d}" for number in random.permutation(height)],
            "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(random.integers(0, 2000, height), "D"),
        }
    )


def test_estimates_of_a_stream_are_close_and_marked() -> None:
    frame = large()
    profile = profiled(pa.Table.from_pandas(frame, preserve_index=False), "in a stream")
    number, category, key, day = profile.columns.values()
    assert number.quartiles == pytest.approx(frame["number"].quantile(list(QUARTERS)).tolist(), rel=0.05)
    assert number.distinct_count == pytest.approx(200_000, rel=0.1)
    assert set(number.approximate) == {"distinct_count", "quartiles", "outlier_count"}
    assert dict(category.top_values) == frame["category"].value_counts().to_dict()
    assert category.approximate == ("text",)
    assert key.text is not None
    assert key.text.shapes == (("A9+", 200_000),)
    assert day.distinct_count == pytest.approx(frame["day"].nunique(), rel=0.1)
    assert profile.candidate_keys == (("key",),)
    assert profile.duplicate_row_count == 0


def test_repeated_rows_of_a_stream_are_estimated() -> None:
    frame = pd.concat([large(), large().head(50_000)])
    profile = profiled(pa.Table.from_pandas(frame, preserve_index=False), "in a stream")
    assert profile.duplicate_row_count == pytest.approx(50_000, rel=0.1)
    assert "duplicate_row_count" in profile.approximate


def test_the_profile_of_a_stream_is_the_same_at_every_run(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(large(height=60_000), preserve_index=False)
    first = profiled(table, "in a stream")
    assert all(profiled(table, "in a stream") == first for _ in range(3))


def test_wide_tables_are_streamed_in_parts() -> None:
    table = pa.table({f"c{number}": pa.array(range(number, number + 50)) for number in range(600)})
    profile = profiled(table, "in a stream")
    assert [column.minimum for column in profile.columns.values()] == list(range(600))
    assert [column.mean for column in profile.columns.values()] == [number + 24.5 for number in range(600)]


def test_numbers_too_large_to_average_have_only_extremes() -> None:
    for way in WAYS:
        column = profiled(pa.table({"v": [1e308, -1e308, float("inf")]}), way).columns["v"]
        assert (column.minimum, column.maximum, column.mean, column.deviation) == (-1e308, "inf", None, None)
