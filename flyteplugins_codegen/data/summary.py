"""What a table holds: a small one told all at once, a large one in a single pass and by some of its rows."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import JsonValue

from flyteplugins_codegen.data.arrow import ValueCounts, arrow_integers, comparable_batch, is_comparable, is_text
from flyteplugins_codegen.data.columns import MOST_TOP_VALUES, TextLengths, are_categories, described, profile_column
from flyteplugins_codegen.data.duckdb import Aggregates, Pass, aggregate
from flyteplugins_codegen.data.relations import Relations, relate
from flyteplugins_codegen.data.rows import RowPicker
from flyteplugins_codegen.data.tables import Table
from flyteplugins_codegen.models.data import ColumnProfile, TextProfile

if TYPE_CHECKING:
    import numpy as np

# Some rows of a stream, each row as likely as any other, the same ones at every run.

_SEED = 20
_MOST_ROWS = 20_000
_MOST_CELLS = 1_000_000
_MOST_BYTES = 24 << 20
_MOST_PARTS = 16


class RowSample:
    """Keeps each row with a chance that is halved, for the rows kept so far too, whenever they grow too many.

    Bernoulli sampling; its numbers are drawn row by row, so that it does not matter how the rows come in batches.
    """

    def __init__(self, width: int) -> None:
        import numpy as np

        self._random = np.random.default_rng(_SEED)
        self._most_rows = max(100, min(_MOST_ROWS, _MOST_CELLS // max(1, width)))
        self._chance = 1.0
        self._kept: list[tuple[pa.RecordBatch, np.ndarray[tuple[int], np.dtype[np.float64]]]] = []
        self._kept_rows, self._kept_bytes = 0, 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in the next batch."""
        self._keep(batch, self._random.random(batch.num_rows))
        while self._kept_rows > 2 * self._most_rows or (self._kept_bytes > _MOST_BYTES and self._kept_rows > 1):
            self._chance /= 2
            kept, self._kept, self._kept_rows, self._kept_bytes = self._kept, [], 0, 0
            for part, draws in kept:
                self._keep(part, draws)
        if len(self._kept) > _MOST_PARTS:
            self._join()

    def rows(self, schema: pa.Schema) -> pa.RecordBatch:
        """The rows kept, in their order."""
        return as_one_batch([part for part, _ in self._kept], schema)

    def _join(self) -> None:
        """One part instead of many: a part of thousands of columns is megabytes of Arrow's own objects."""
        import numpy as np

        parts, draws = zip(*self._kept, strict=True)
        self._kept = [(as_one_batch(list(parts), parts[0].schema), np.concatenate(draws))]

    def _keep(self, batch: pa.RecordBatch, draws: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
        import numpy as np

        chosen = np.flatnonzero(draws < self._chance)
        if len(chosen):
            part = batch.take(arrow_integers(*chosen.tolist()))
            self._kept.append((part, draws[chosen]))
            self._kept_rows += len(chosen)
            self._kept_bytes += part.nbytes


def as_one_batch(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """All rows in one batch, which has no rows where there is none."""
    columns = [
        pa.concat_arrays([batch.column(i) for batch in batches] or [pa.nulls(0, f.type)]) for i, f in enumerate(schema)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


# A stream of batches, watched as it passes: what one look in the order of the rows can tell.

# What fits is held in memory and told exactly; all else streams by.
WHOLE_BYTES = 24 << 20
# Different values that are counted of a column, and of all columns together.
_MOST_COUNTED = 1000
_FEWEST_COUNTED = 20
_MOST_COUNTED_OF_ALL = 100_000


@dataclass(frozen=True)
class Beginning:
    """The first comparable batches of a table; `is_whole` says that no others follow."""

    batches: deque[pa.RecordBatch]
    is_whole: bool


def take_beginning(batches: Iterator[pa.RecordBatch]) -> Beginning:
    """As many batches as are held in memory."""
    taken: deque[pa.RecordBatch] = deque()
    held = 0
    for batch in batches:
        # A reader's batch may be a view of more than its own rows, so the bytes in it are what counts.
        taken.append(comparable_batch(batch))
        held += taken[-1].nbytes
        if held > WHOLE_BYTES:
            return Beginning(taken, is_whole=False)
    return Beginning(taken, is_whole=True)


@dataclass(frozen=True)
class Seen:
    """What was seen of a column, in all its rows.

    `is_rising`: each value is greater than the one before it, so that no two are equal. `counts`: all values with
    their counts, the commonest first; None if there are many. `lengths`: of texts; None for any other column.
    """

    is_rising: bool
    counts: tuple[tuple[JsonValue, int], ...] | None
    lengths: TextLengths | None


def has_key(beginning: Beginning) -> bool:
    """Whether a column rises from row to row, so that no row repeats another as far as it goes."""
    return any(is_comparable(column.type) and _Rising().add(column) for column in beginning.batches[0].columns)


class Watch:
    """Passes comparable batches on, and keeps what it sees: rows to show, rows to study, columns that only rise.

    A fault of the reader is kept as well: the engine that pulls the stream would tell it as its own.
    """

    def __init__(self, schema: pa.Schema, picker: RowPicker) -> None:
        self._picker = picker
        self._sample = RowSample(len(schema))
        self._rising = [_Rising() if is_comparable(field.type) else None for field in schema]
        most_values = max(_FEWEST_COUNTED, min(_MOST_COUNTED, _MOST_COUNTED_OF_ALL // max(1, len(schema))))
        self._counts = [ValueCounts(most_values) if ValueCounts.can_count(field.type) else None for field in schema]
        self._texts = {position: TextLengths() for position, field in enumerate(schema) if is_text(field.type)}
        self.fault: Exception | None = None

    def through(self, beginning: Beginning, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """All batches; each is let go of as soon as it has passed."""
        waiting = beginning.batches
        try:
            while waiting:
                yield self._seen(waiting.popleft())
            for batch in rest:
                yield self._seen(comparable_batch(batch))
        except Exception as error:
            self.fault = error
            raise

    def sampled(self, schema: pa.Schema) -> pa.RecordBatch:
        """Some of the rows that have passed."""
        return self._sample.rows(schema)

    def seen_of(self, position: int) -> Seen:
        """What was seen of a column."""
        rising, counted = self._rising[position], self._counts[position]
        return Seen(
            is_rising=rising is not None and rising.is_so,
            counts=None if counted is None else counted.counts(),
            lengths=self._texts.get(position),
        )

    def _seen(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        self._picker.add(batch)
        self._sample.add(batch)
        for position, lengths in self._texts.items():
            lengths.add(batch.column(position))
        for position, (rising, counted) in enumerate(zip(self._rising, self._counts, strict=True)):
            if rising is not None and not rising.add(batch.column(position)):
                self._rising[position] = None
            if counted is not None and not counted.add(batch.column(position)):
                self._counts[position] = None
        return batch


class _Rising:
    """Whether a column's values rise strictly."""

    def __init__(self) -> None:
        self.is_so = False
        self._last: pa.Scalar | None = None

    def add(self, column: pa.Array) -> bool:
        if not len(column):
            return True
        steps = pc.less(column.slice(0, len(column) - 1), column.slice(1))
        starts = self._last is None or pc.less(self._last, column[0]).as_py()
        self.is_so = not column.null_count and bool(starts) and pc.all(steps).as_py() is not False
        self._last = column[len(column) - 1]
        return self.is_so


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
