"""Computes the statistics of all columns of a stream with one DuckDB query, in one pass and bounded memory."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pydantic import JsonValue

from flyteplugins_codegen.data.arrow import is_comparable, is_number, json_value, stored_type
from flyteplugins_codegen.errors import SampleError

_MEMORY_LIMIT = "160MB"
# The square of a larger number overflows, and then DuckDB fails the whole query.
_LARGEST_SQUARED = 1e150
_STABLE_DIGITS = 10
_SLICES = 64


@dataclass(frozen=True)
class ColumnAggregates:
    """The statistics of one column over all rows. `distinct` is an estimate."""

    valid_count: int
    distinct: int | None = None
    minimum: JsonValue = None
    maximum: JsonValue = None
    mean: float | None = None
    deviation: float | None = None


@dataclass(frozen=True)
class TableAggregates:
    """The statistics of all columns over all rows.

    `duplicate_row_count` is an estimate of the rows that repeat others; None if rows were not compared.
    """

    columns: tuple[ColumnAggregates, ...]
    row_count: int
    duplicate_row_count: int | None


def aggregate(
    batches: Iterator[pa.RecordBatch], kinds: Sequence[pa.DataType], *, compares_rows: bool
) -> TableAggregates:
    """Aggregate comparable batches of columns of these types in one pass.

    Duplicate rows are counted in a sample of the rows, those whose hashes end alike: equal rows are in it together, so
    the share of duplicates in the sample estimates that of all rows.

    Raises:
        SampleError: DuckDB runs out of memory or disk.
    """
    import duckdb

    schema = pa.schema([(f"c{number}", stored_type(kind)) for number, kind in enumerate(kinds)])
    stream = pa.RecordBatchReader.from_batches(schema, (_cast_batch(batch, schema) for batch in batches))
    try:
        result = _run_query(_build_query(schema, kinds, compares_rows=compares_rows), stream)
    except duckdb.Error as error:
        raise SampleError(
            f"a table of {len(kinds)} columns could not be summarised within {_MEMORY_LIMIT} of memory ({error}); "
            "pass fewer rows or columns of it"
        ) from error
    columns = tuple(_column_aggregates(result, number, kind) for number, kind in enumerate(kinds))
    hashes = result.column("hashes").flatten() if compares_rows else None
    duplicates = None if hashes is None else (len(hashes) - len(hashes.unique())) * _SLICES
    return TableAggregates(columns, _number(result, "row_count"), duplicates)


def _cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _build_query(schema: pa.Schema, kinds: Sequence[pa.DataType], *, compares_rows: bool) -> str:
    selected = ["count(*) AS row_count"]
    for number, kind in enumerate(kinds):
        selected += _expressions(number, kind)
    if compares_rows:
        row = f"hash({', '.join(schema.names)})"
        selected.append(f"list({row}) FILTER (WHERE {row} % {_SLICES} = 0) AS hashes")
    return f"SELECT {', '.join(selected)} FROM stream"  # noqa: S608 - only generated names and numbers


def _expressions(number: int, kind: pa.DataType) -> list[str]:
    name = f"c{number}"
    expressions = [f"count({name}) AS valid{number}"]
    if not is_comparable(kind):
        return expressions
    expressions += [
        f"min({name}) AS least{number}",
        f"max({name}) AS greatest{number}",
        f"approx_count_distinct({name}) AS distinct{number}",
    ]
    if is_number(kind):
        value = name
        if pa.types.is_floating(kind):
            value = f"CASE WHEN abs({name}) < {_LARGEST_SQUARED} THEN {name}::DOUBLE END"
        elif pa.types.is_decimal(kind):
            value = f"{name}::DOUBLE"
        expressions += [f"avg({value}) AS mean{number}", f"stddev_samp({value}) AS deviation{number}"]
    return expressions


def _run_query(query: str, stream: pa.RecordBatchReader) -> pa.RecordBatch:
    """Run the query over the stream and return its one row."""
    connection = _database(os.getpid()).cursor()
    try:
        connection.register("stream", stream)
        return connection.sql(query).to_arrow_table().combine_chunks().to_batches()[0]
    finally:
        connection.close()


@functools.cache
def _database(process: int) -> Any:
    """Return the database of this process; a forked process opens its own. Opening takes longer than most queries.

    It is in memory, bounded, and has no access to files or the network.
    """
    import duckdb

    folder = tempfile.mkdtemp(prefix=f"codegen-{process}-")
    atexit.register(_remove_folder, folder, process)
    database = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": _MEMORY_LIMIT,
            "temp_directory": folder,
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        },
    )
    # Last, because it cannot be undone: no value of a sample can become a path that the database opens.
    database.execute("SET enable_external_access = false; SET lock_configuration = true")
    return database


def _remove_folder(folder: str, process: int) -> None:
    # A forked process must not remove the folder of its parent.
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _column_aggregates(result: pa.RecordBatch, number: int, kind: pa.DataType) -> ColumnAggregates:
    valid = _number(result, f"valid{number}")
    if not is_comparable(kind) or not valid:
        return ColumnAggregates(valid, distinct=None if valid else 0)
    statistics: dict[str, Any] = {
        "distinct": _number(result, f"distinct{number}"),
        "minimum": _extreme(result, f"least{number}", kind),
        "maximum": _extreme(result, f"greatest{number}", kind),
    }
    # No average if a value was too large to be squared.
    if is_number(kind) and all(
        abs(_number(result, f"{name}{number}")) < _LARGEST_SQUARED for name in ("least", "greatest")
    ):
        statistics |= {name: _rounded(_number(result, f"{name}{number}")) for name in ("mean", "deviation")}
    return ColumnAggregates(valid, **statistics)


def _rounded(value: float | None) -> float | None:
    """Round to the digits that do not depend on which thread added which rows."""
    return None if value is None else float(f"{value:.{_STABLE_DIGITS}g}")


def _number(result: pa.RecordBatch, name: str) -> Any:
    return result.column(name)[0].as_py()


def _extreme(result: pa.RecordBatch, name: str, kind: pa.DataType) -> JsonValue:
    return json_value(result.column(name).cast(stored_type(kind)).cast(kind)[0])
