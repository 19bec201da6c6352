"""What a table holds: a small one told all at once, a large one in a single pass and by some of its rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pydantic import JsonValue

from flyteplugins_codegen.data.aggregates import Aggregates, Pass, aggregate
from flyteplugins_codegen.data.columns import MOST_TOP_VALUES, are_categories, described, profile_column
from flyteplugins_codegen.data.relations import Relations, relate
from flyteplugins_codegen.data.rows import RowPicker
from flyteplugins_codegen.data.sampling import as_one_batch
from flyteplugins_codegen.data.streams import Beginning, Seen, Watch, has_key, take_beginning
from flyteplugins_codegen.data.tables import Table
from flyteplugins_codegen.data.text_lengths import TextLengths
from flyteplugins_codegen.models.profile import ColumnProfile, TextProfile

_MOST_COLUMNS_AT_ONCE = 250


@dataclass(frozen=True)
class Summary:
    """What a table holds. `rows` are comparable rows of it, all of them where `is_whole`."""

    row_count: int
    columns: dict[str, ColumnProfile]
    sample_rows: tuple[dict[str, JsonValue], ...]
    relations: Relations
    rows: pa.RecordBatch
    is_whole: bool

    @property
    def approximate(self) -> tuple[str, ...]:
        """The estimates among the relations."""
        if self.is_whole:
            return ()
        named = {
            "candidate_keys": self.relations.candidate_keys,
            "mirrors": self.relations.mirrors,
            "duplicate_row_count": self.relations.duplicate_row_count,
        }
        return tuple(name for name, found in named.items() if found)


def summarise(table: Table, max_sample_rows: int) -> Summary:
    """Everything about the table but its name. Its batches are read once, in bounded memory."""
    beginning = take_beginning(table.batches)
    picker = RowPicker(table.schema.names, max_sample_rows)
    if beginning.is_whole:
        return _of_whole(table.schema, beginning, picker)
    return _of_stream(table, beginning, picker)


def _of_whole(schema: pa.Schema, beginning: Beginning, picker: RowPicker) -> Summary:
    for batch in beginning.batches:
        picker.add(batch)
    rows = as_one_batch(list(beginning.batches), _schema_of(schema, beginning))
    columns = {field.name: profile_column(field, column) for field, column in zip(schema, rows.columns, strict=True)}
    return Summary(rows.num_rows, columns, picker.rows(), relate(rows), rows, is_whole=True)


def _schema_of(schema: pa.Schema, beginning: Beginning) -> pa.Schema:
    """The schema of the comparable batches."""
    return beginning.batches[0].schema if beginning.batches else schema


def _of_stream(table: Table, beginning: Beginning, picker: RowPicker) -> Summary:
    schema = _schema_of(table.schema, beginning)
    watch = Watch(schema, picker)
    try:
        found = _aggregated(watch.through(beginning, table.batches), schema, compares_rows=not has_key(beginning))
    except Exception as error:
        raise (watch.fault or error) from error
    rows = watch.sampled(schema)
    columns = {}
    for position, field in enumerate(table.schema):
        sampled = profile_column(field, rows.column(position))
        told = _Told(field, found.columns[position], found.row_count, watch.seen_of(position))
        columns[field.name] = _joined(told, sampled, len(rows.column(position)) - sampled.null_count)
    return Summary(found.row_count, columns, picker.rows(), _relations(rows, found, columns), rows, is_whole=False)


def _aggregated(stream: Iterator[pa.RecordBatch], schema: pa.Schema, *, compares_rows: bool) -> Pass:
    """One pass; of a wide table one over each part of it, from a copy in a private folder."""
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
class _Told:
    """What the pass over all rows tells of a column."""

    field: pa.Field
    aggregates: Aggregates
    row_count: int
    seen: Seen

    @property
    def exact_distinct(self) -> int | None:
        """The number of different values, where it is certain."""
        if self.seen.is_rising:
            return self.row_count
        return None if self.seen.counts is None else len(self.seen.counts)


def _joined(told: _Told, sampled: ColumnProfile, sampled_valid: int) -> ColumnProfile:
    """One profile of what is known of all rows and what some rows tell."""
    found, valid = told.aggregates, told.aggregates.valid_count
    scale = valid / sampled_valid if sampled_valid else 0.0
    exact = told.exact_distinct
    distinct = exact if exact is not None or found.distinct is None else min(found.distinct, valid)
    profile = ColumnProfile(
        **described(told.field),
        null_count=told.row_count - valid,
        distinct_count=distinct,
        is_unique=bool(told.row_count) and exact == told.row_count,
        is_constant=valid == told.row_count and (exact == 1 or _are_one(found)),
        minimum=found.minimum,
        maximum=found.maximum,
        mean=found.mean,
        deviation=found.deviation,
        quartiles=sampled.quartiles,
        outlier_count=None if sampled.outlier_count is None else round(sampled.outlier_count * scale),
        top_values=_top_values(told, sampled, scale, distinct),
        text=_text(told.seen.lengths, sampled.text, scale),
    )
    estimates = {
        "distinct_count": exact is None and distinct is not None,
        "quartiles": profile.quartiles is not None,
        "outlier_count": profile.outlier_count is not None,
        "top_values": bool(profile.top_values) and told.seen.counts is None,
        "text": profile.text is not None,
    }
    return profile.model_copy(update={"approximate": tuple(name for name, is_so in estimates.items() if is_so)})


def _are_one(found: Aggregates) -> bool:
    # A text may be shortened here, and differ behind.
    return found.minimum is not None and found.minimum == found.maximum and not isinstance(found.minimum, str)


def _top_values(
    told: _Told, sampled: ColumnProfile, scale: float, distinct: int | None
) -> tuple[tuple[JsonValue, int], ...]:
    """The commonest values: counted where they are few, else estimated from some rows."""
    if distinct is None or not are_categories(told.field.type, distinct, told.aggregates.valid_count):
        return ()
    if told.seen.counts is not None:
        return told.seen.counts[:MOST_TOP_VALUES]
    return tuple((value, round(count * scale)) for value, count in sampled.top_values)


def _text(lengths: TextLengths | None, sampled: TextProfile | None, scale: float) -> TextProfile | None:
    """Lengths, empty and padded texts of all rows; shapes, kinds and formats of some, counted up to all."""
    if sampled is None or lengths is None:
        return None
    scaled = {
        name: tuple((what, round(count * scale)) for what, count in getattr(sampled, name))
        for name in ("shapes", "kinds", "formats")
    }
    return sampled.model_copy(update=scaled | lengths.told())


def _relations(rows: pa.RecordBatch, found: Pass, columns: dict[str, ColumnProfile]) -> Relations:
    """Keys that are certain, else those of some rows; repeated rows as they repeat in the slice."""
    among_some = relate(rows)
    certain = tuple((name,) for name, column in columns.items() if column.is_unique)
    likely = tuple(key for key in among_some.candidate_keys if len(key) == 1 and _may_be_key(columns[key[0]], found))
    duplicates: int | None = None
    if certain:
        duplicates = 0
    elif among_some.duplicate_row_count is not None:
        duplicates = found.duplicate_row_count
    return Relations(certain or likely, among_some.mirrors, duplicates)


def _may_be_key(column: ColumnProfile, found: Pass) -> bool:
    """Whether nothing speaks against it: the estimate of different values is off by a tenth at most."""
    return not column.null_count and (column.distinct_count or 0) > 0.9 * found.row_count
