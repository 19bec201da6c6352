"""The statistics of all columns of a stream, in one pass and bounded memory: one query of DuckDB."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pydantic import JsonValue

from flyteplugins_codegen.data.arrow import is_comparable, is_number, json_value, stored_type
from flyteplugins_codegen.errors import SampleError

# DuckDB as this room uses it: in memory, with bounds, and able to touch neither files nor the network.

MEMORY_LIMIT = "160MB"


@contextmanager
def opened(tables: Mapping[str, Any]) -> Iterator[Any]:
    """A connection that knows these Arrow tables and streams by their names, and nothing else."""
    connection = _database(os.getpid()).cursor()
    try:
        for name, table in tables.items():
            connection.register(name, table)
        yield connection
    finally:
        connection.close()


@functools.cache
def _database(process: int) -> Any:
    """One database a process, a forked one too: to open it takes longer than most questions that it is asked."""
    import duckdb

    folder = tempfile.mkdtemp(prefix=f"codegen-{process}-")
    atexit.register(_remove, folder, process)
    database = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": MEMORY_LIMIT,
            "temp_directory": folder,
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        },
    )
    # Last, and for good: what a sample holds can never become a path that the database opens.
    database.execute("SET enable_external_access = false; SET lock_configuration = true")
    return database


def _remove(folder: str, process: int) -> None:
    # A forked process leaves what its parent still uses.
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


# Squares of larger numbers are no numbers any more, and DuckDB gives up on the whole query.
_LARGEST_SQUARED = 1e150
_SURE_DIGITS = 10
_SLICES = 64


@dataclass(frozen=True)
class Aggregates:
    """What one pass tells of a column. `distinct` is an estimate."""

    valid_count: int
    distinct: int | None = None
    minimum: JsonValue = None
    maximum: JsonValue = None
    mean: float | None = None
    deviation: float | None = None


@dataclass(frozen=True)
class Pass:
    """What one pass tells: of each column, and how many rows repeat others, an estimate; None where not compared."""

    columns: tuple[Aggregates, ...]
    row_count: int
    duplicate_row_count: int | None


def aggregate(batches: Iterator[pa.RecordBatch], kinds: Sequence[pa.DataType], *, compares_rows: bool) -> Pass:
    """One pass over comparable batches of columns of these types.

    Rows are compared in a slice of them, those whose hashes end alike: equal rows come into it together, so what
    repeats within it repeats as often outside.

    Raises:
        SampleError: DuckDB gives up, for want of memory or disk.
    """
    import duckdb

    schema = pa.schema([(f"c{number}", stored_type(kind)) for number, kind in enumerate(kinds)])
    stream = pa.RecordBatchReader.from_batches(schema, (_stored(batch, schema) for batch in batches))
    selected = ["count(*) AS row_count"]
    for number, kind in enumerate(kinds):
        selected += _expressions(number, kind)
    if compares_rows:
        every = ", ".join(schema.names)
        selected.append(f"list(hash({every})) FILTER (WHERE hash({every}) % {_SLICES} = 0) AS sliced")
    query = f"SELECT {', '.join(selected)} FROM stream"  # noqa: S608 - names and numbers of ours
    try:
        with opened({"stream": stream}) as connection:
            found = connection.sql(query).to_arrow_table().combine_chunks().to_batches()[0]
    except duckdb.Error as error:
        raise SampleError(
            f"a table of {len(kinds)} columns could not be summarised within {MEMORY_LIMIT} of memory ({error}); "
            "pass fewer rows or columns of it"
        ) from error
    columns = tuple(_aggregates(found, number, kind) for number, kind in enumerate(kinds))
    sliced = found.column("sliced").flatten() if compares_rows else None
    duplicates = None if sliced is None else (len(sliced) - len(sliced.unique())) * _SLICES
    return Pass(columns, _number(found, "row_count"), duplicates)


def _stored(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)], schema=schema
    )


def _expressions(number: int, kind: pa.DataType) -> list[str]:
    name = f"c{number}"
    found = [f"count({name}) AS valid{number}"]
    if not is_comparable(kind):
        return found
    found += [
        f"min({name}) AS least{number}",
        f"max({name}) AS greatest{number}",
        f"approx_count_distinct({name}) AS distinct{number}",
    ]
    return [*found, *_of_numbers(name, number, kind)] if is_number(kind) else found


def _of_numbers(name: str, number: int, kind: pa.DataType) -> list[str]:
    value = name
    if pa.types.is_floating(kind):
        value = f"CASE WHEN abs({name}) < {_LARGEST_SQUARED} THEN {name}::DOUBLE END"
    elif pa.types.is_decimal(kind):
        value = f"{name}::DOUBLE"
    return [f"avg({value}) AS mean{number}", f"stddev_samp({value}) AS deviation{number}"]


def _aggregates(found: pa.RecordBatch, number: int, kind: pa.DataType) -> Aggregates:
    valid = _number(found, f"valid{number}")
    if not is_comparable(kind) or not valid:
        return Aggregates(valid, distinct=None if valid else 0)
    told: dict[str, Any] = {
        "distinct": _number(found, f"distinct{number}"),
        "minimum": _shown(found, f"least{number}", kind),
        "maximum": _shown(found, f"greatest{number}", kind),
    }
    if is_number(kind) and _can_average(found, number):
        told |= {name: _rounded(_number(found, f"{name}{number}")) for name in ("mean", "deviation")}
    return Aggregates(valid, **told)


def _can_average(found: pa.RecordBatch, number: int) -> bool:
    """Whether no value was too large to be squared."""
    return all(abs(_number(found, f"{which}{number}")) < _LARGEST_SQUARED for which in ("least", "greatest"))


def _rounded(value: float | None) -> float | None:
    """The number in as many digits as do not depend on which thread summed which rows."""
    return None if value is None else float(f"{value:.{_SURE_DIGITS}g}")


def _number(found: pa.RecordBatch, name: str) -> Any:
    return found.column(name)[0].as_py()


def _shown(found: pa.RecordBatch, name: str, kind: pa.DataType) -> JsonValue:
    return json_value(found.column(name).cast(stored_type(kind)).cast(kind)[0])
