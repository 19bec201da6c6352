"""The summary of a table: a small table is profiled in memory, a large one in one pass and by a sample of its rows."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pydantic import JsonValue

from flyteplugins_codegen.data.arrow import comparable_batch
from flyteplugins_codegen.data.columns import MOST_TOP_VALUES, are_categories, field_description, profile_column
from flyteplugins_codegen.data.duckdb import ColumnAggregates, TableAggregates, aggregate
from flyteplugins_codegen.data.relations import Relations, relate
from flyteplugins_codegen.data.rows import RowPicker
from flyteplugins_codegen.data.stream import (
    StreamedColumn,
    StreamObserver,
    TextLengths,
    as_one_batch,
    has_rising_column,
)
from flyteplugins_codegen.data.tables import SampleTable
from flyteplugins_codegen.models.data import ColumnProfile, TextProfile

# A table of at most this size is held in memory and profiled exactly; a larger one is streamed.
WHOLE_BYTES = 24 << 20
_MOST_COLUMNS_AT_ONCE = 250


@dataclass(frozen=True)
class TableSummary:
    """The statistics of a table. `rows` are comparable rows of it, all of them if `is_whole`."""

    row_count: int
    columns: dict[str, ColumnProfile]
    sample_rows: tuple[dict[str, JsonValue], ...]
    relations: Relations
    rows: pa.RecordBatch
    is_whole: bool

    @property
    def approximate(self) -> tuple[str, ...]:
        """The names of the relations that are estimates."""
        if self.is_whole:
            return ()
        relations = {
            "candidate_keys": self.relations.candidate_keys,
            "mirrors": self.relations.mirrors,
            "duplicate_row_count": self.relations.duplicate_row_count,
        }
        return tuple(name for name, value in relations.items() if value)


def summarise(table: SampleTable, max_sample_rows: int) -> TableSummary:
    """Summarise the table. Its batches are read once, in bounded memory."""
    first, is_whole = _take_first(table.batches)
    picker = RowPicker(table.schema.names, max_sample_rows)
    # The schema of the comparable batches.
    schema = first[0].schema if first else table.schema
    if not is_whole:
        return _summarise_stream(table, schema, first, picker)
    for batch in first:
        picker.add(batch)
    rows = as_one_batch(list(first), schema)
    columns = {
        field.name: profile_column(field, column) for field, column in zip(table.schema, rows.columns, strict=True)
    }
    return TableSummary(rows.num_rows, columns, picker.rows(), relate(rows), rows, is_whole=True)


def _take_first(batches: Iterator[pa.RecordBatch]) -> tuple[deque[pa.RecordBatch], bool]:
    """Return the first batches, as many as are held in memory, and whether these are all."""
    taken: deque[pa.RecordBatch] = deque()
    held_bytes = 0
    for batch in batches:
        # A reader's batch may be a view of more than its own rows; `nbytes` counts only these.
        taken.append(comparable_batch(batch))
        held_bytes += taken[-1].nbytes
        if held_bytes > WHOLE_BYTES:
            return taken, False
    return taken, True


def _summarise_stream(
    table: SampleTable, schema: pa.Schema, first: deque[pa.RecordBatch], picker: RowPicker
) -> TableSummary:
    observer = StreamObserver(schema, picker)
    compares_rows = not has_rising_column(first[0])
    try:
        aggregates = _aggregate_stream(observer.observe(first, table.batches), schema, compares_rows=compares_rows)
    except Exception as error:
        raise (observer.error or error) from error
    rows = observer.sampled_rows(schema)
    columns = {}
    for position, field in enumerate(table.schema):
        sampled = profile_column(field, rows.column(position))
        full = _FullColumn(field, aggregates.columns[position], aggregates.row_count, observer.column(position))
        columns[field.name] = _merge_profiles(full, sampled, len(rows.column(position)) - sampled.null_count)
    relations = _stream_relations(rows, aggregates, columns)
    return TableSummary(aggregates.row_count, columns, picker.rows(), relations, rows, is_whole=False)


def _aggregate_stream(stream: Iterator[pa.RecordBatch], schema: pa.Schema, *, compares_rows: bool) -> TableAggregates:
    """Aggregate the stream in one pass; a wide table is written to a file and aggregated some columns at a time."""
    if len(schema) <= _MOST_COLUMNS_AT_ONCE:
        return aggregate(stream, schema.types, compares_rows=compares_rows)
    with tempfile.TemporaryDirectory(prefix="codegen-wide-") as folder:
        path = str(Path(folder) / "wide.arrow")
        with pa.ipc.new_file(path, schema) as writer:
            for batch in stream:
                writer.write_batch(batch)
        parts = []
        for start in range(0, len(schema), _MOST_COLUMNS_AT_ONCE):
            positions = list(range(len(schema)))[start : start + _MOST_COLUMNS_AT_ONCE]
            kinds = [schema.field(position).type for position in positions]
            parts.append(aggregate(_read_columns(path, positions), kinds, compares_rows=False))
    return replace(parts[0], columns=tuple(column for part in parts for column in part.columns))


def _read_columns(path: str, positions: list[int]) -> Iterator[pa.RecordBatch]:
    with pa.ipc.open_file(pa.OSFile(path), options=pa.ipc.IpcReadOptions(included_fields=positions)) as file:
        for number in range(file.num_record_batches):
            yield file.get_batch(number)


@dataclass(frozen=True)
class _FullColumn:
    """What is known of a column from all its rows."""

    field: pa.Field
    aggregates: ColumnAggregates
    row_count: int
    streamed: StreamedColumn

    @property
    def exact_distinct(self) -> int | None:
        """The number of different values, None if it is not certain."""
        if self.streamed.is_rising:
            return self.row_count
        return None if self.streamed.counts is None else len(self.streamed.counts)


def _merge_profiles(full: _FullColumn, sampled: ColumnProfile, sampled_valid: int) -> ColumnProfile:
    """Return one profile from the statistics of all rows and the profile of the sampled rows."""
    aggregates, valid = full.aggregates, full.aggregates.valid_count
    scale = valid / sampled_valid if sampled_valid else 0.0
    exact = full.exact_distinct
    distinct = exact if exact is not None or aggregates.distinct is None else min(aggregates.distinct, valid)
    profile = ColumnProfile(
        **field_description(full.field),
        null_count=full.row_count - valid,
        distinct_count=distinct,
        is_unique=bool(full.row_count) and exact == full.row_count,
        is_constant=valid == full.row_count and (exact == 1 or _is_one_value(aggregates)),
        minimum=aggregates.minimum,
        maximum=aggregates.maximum,
        mean=aggregates.mean,
        deviation=aggregates.deviation,
        quartiles=sampled.quartiles,
        outlier_count=None if sampled.outlier_count is None else round(sampled.outlier_count * scale),
        top_values=_top_values(full, sampled, scale, distinct),
        text=_text_profile(full.streamed.lengths, sampled.text, scale),
    )
    estimates = {
        "distinct_count": exact is None and distinct is not None,
        "quartiles": profile.quartiles is not None,
        "outlier_count": profile.outlier_count is not None,
        "top_values": bool(profile.top_values) and full.streamed.counts is None,
        "text": profile.text is not None,
    }
    return profile.model_copy(update={"approximate": tuple(name for name, is_so in estimates.items() if is_so)})


def _is_one_value(aggregates: ColumnAggregates) -> bool:
    # Texts do not count: they may be shortened here, and differ in what was cut.
    least = aggregates.minimum
    return least is not None and least == aggregates.maximum and not isinstance(least, str)


def _top_values(
    full: _FullColumn, sampled: ColumnProfile, scale: float, distinct: int | None
) -> tuple[tuple[JsonValue, int], ...]:
    """Return the commonest values: counted if they are few, else estimated from the sampled rows."""
    if distinct is None or not are_categories(full.field.type, distinct, full.aggregates.valid_count):
        return ()
    if full.streamed.counts is not None:
        return full.streamed.counts[:MOST_TOP_VALUES]
    return tuple((value, round(count * scale)) for value, count in sampled.top_values)


def _text_profile(lengths: TextLengths | None, sampled: TextProfile | None, scale: float) -> TextProfile | None:
    """Return the lengths and the empty and padded texts of all rows; shapes, kinds and formats are extrapolated."""
    if sampled is None or lengths is None:
        return None
    scaled = {
        name: tuple((what, round(count * scale)) for what, count in getattr(sampled, name))
        for name in ("shapes", "kinds", "formats")
    }
    return sampled.model_copy(update=scaled | lengths.statistics())


def _stream_relations(
    rows: pa.RecordBatch, aggregates: TableAggregates, columns: dict[str, ColumnProfile]
) -> Relations:
    """Return the keys that are certain, else those of the sampled rows; and an estimate of the duplicate rows."""
    sampled = relate(rows)
    certain = tuple((name,) for name, column in columns.items() if column.is_unique)
    likely = tuple(key for key in sampled.candidate_keys if len(key) == 1 and _may_be_key(columns[key[0]], aggregates))
    duplicates: int | None = None
    if certain:
        duplicates = 0
    elif sampled.duplicate_row_count is not None:
        duplicates = aggregates.duplicate_row_count
    return Relations(certain or likely, sampled.mirrors, duplicates)


def _may_be_key(column: ColumnProfile, aggregates: TableAggregates) -> bool:
    """Return whether nothing contradicts it: the estimate of different values is off by a tenth at most."""
    return not column.null_count and (column.distinct_count or 0) > 0.9 * aggregates.row_count
