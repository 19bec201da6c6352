"""What is collected from a stream of record batches in one pass, in bounded memory.

Random rows, the values of columns that have few different ones, the lengths of texts, and which columns rise.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import JsonValue

from flyteplugins_codegen.data.arrow import arrow_integers, comparable_batch, is_comparable, is_text
from flyteplugins_codegen.data.rows import RowPicker

if TYPE_CHECKING:
    import numpy as np

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]
    Integers = np.ndarray[Any, np.dtype[Any]]
    Draws = np.ndarray[tuple[int], np.dtype[np.float64]]

_SEED = 20
_MOST_SAMPLED_ROWS = 20_000
_MOST_SAMPLED_CELLS = 1_000_000
_MOST_SAMPLED_BYTES = 24 << 20
_MOST_PARTS = 16
# How many different values are counted of a column, and of all columns together.
_MOST_COUNTED = 1000
_FEWEST_COUNTED = 20
_MOST_COUNTED_OF_ALL = 100_000
_LONGEST_COUNTED_BYTES = 200
_LAST_BLANK = 0x20
_FIRST_NOT_ASCII = 0x80


@dataclass(frozen=True)
class StreamedColumn:
    """What was collected from all rows of a column.

    `is_rising`: each value is greater than the one before it, so no two are equal. `counts`: all values with their
    counts, the commonest first; None if there are many. `lengths`: those of texts; None for other columns.
    """

    is_rising: bool
    counts: tuple[tuple[JsonValue, int], ...] | None
    lengths: TextLengths | None


class StreamObserver:
    """Passes comparable batches on and collects statistics, rows to show and a random sample of rows.

    It also keeps the error of the reader, because the engine that consumes the stream would raise its own instead.
    """

    def __init__(self, schema: pa.Schema, picker: RowPicker) -> None:
        self._picker = picker
        self._sample = RowSample(len(schema))
        self._rising = [_RisingCheck() if is_comparable(field.type) else None for field in schema]
        most_values = max(_FEWEST_COUNTED, min(_MOST_COUNTED, _MOST_COUNTED_OF_ALL // max(1, len(schema))))
        self._counts = [ValueCounts(most_values) if ValueCounts.can_count(field.type) else None for field in schema]
        self._texts = {position: TextLengths() for position, field in enumerate(schema) if is_text(field.type)}
        self.error: Exception | None = None

    def observe(self, first: deque[pa.RecordBatch], rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the first batches, which are comparable already, and the rest; keeps no reference to any of them."""
        try:
            while first:
                yield self._collect(first.popleft())
            for batch in rest:
                yield self._collect(comparable_batch(batch))
        except Exception as error:
            self.error = error
            raise

    def sampled_rows(self, schema: pa.Schema) -> pa.RecordBatch:
        """Return the random sample of rows."""
        return self._sample.rows(schema)

    def column(self, position: int) -> StreamedColumn:
        """Return what was collected of a column."""
        rising, counts = self._rising[position], self._counts[position]
        return StreamedColumn(
            is_rising=rising is not None and rising.holds,
            counts=None if counts is None else counts.ranked(),
            lengths=self._texts.get(position),
        )

    def _collect(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        self._picker.add(batch)
        self._sample.add(batch)
        for position, lengths in self._texts.items():
            lengths.add(batch.column(position))
        for position, (rising, counts) in enumerate(zip(self._rising, self._counts, strict=True)):
            if rising is not None and not rising.add(batch.column(position)):
                self._rising[position] = None
            if counts is not None and not counts.add(batch.column(position)):
                self._counts[position] = None
        return batch


def has_rising_column(batch: pa.RecordBatch) -> bool:
    """Return whether a column rises from row to row, so that no row repeats another."""
    return any(is_comparable(column.type) and _RisingCheck().add(column) for column in batch.columns)


class _RisingCheck:
    """Checks whether a column's values rise strictly."""

    def __init__(self) -> None:
        self.holds = False
        self._last: pa.Scalar | None = None

    def add(self, column: pa.Array) -> bool:
        """Check the next batch; return whether the values have risen so far."""
        if not len(column):
            return True
        steps = pc.less(column.slice(0, len(column) - 1), column.slice(1))
        starts = self._last is None or pc.less(self._last, column[0]).as_py()
        self.holds = not column.null_count and bool(starts) and pc.all(steps).as_py() is not False
        self._last = column[len(column) - 1]
        return self.holds


class RowSample:
    """A random sample of rows, the same ones at every run.

    Bernoulli sampling: each row is kept with a probability that is halved, for the rows kept so far as well, whenever
    there are too many. One number is drawn for each row, so the result does not depend on the sizes of the batches.
    """

    def __init__(self, width: int) -> None:
        import numpy as np

        self._random = np.random.default_rng(_SEED)
        self._most_rows = max(100, min(_MOST_SAMPLED_ROWS, _MOST_SAMPLED_CELLS // max(1, width)))
        self._probability = 1.0
        self._kept: list[tuple[pa.RecordBatch, Draws]] = []
        self._kept_rows, self._kept_bytes = 0, 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Sample the next batch."""
        self._keep(batch, self._random.random(batch.num_rows))
        while self._kept_rows > 2 * self._most_rows or (self._kept_bytes > _MOST_SAMPLED_BYTES and self._kept_rows > 1):
            self._probability /= 2
            kept, self._kept, self._kept_rows, self._kept_bytes = self._kept, [], 0, 0
            for part, draws in kept:
                self._keep(part, draws)
        if len(self._kept) > _MOST_PARTS:
            self._join()

    def rows(self, schema: pa.Schema) -> pa.RecordBatch:
        """Return the rows that were kept, in their order."""
        return as_one_batch([part for part, _ in self._kept], schema)

    def _join(self) -> None:
        """Join the parts: of a wide table, the Arrow objects of each part take megabytes."""
        import numpy as np

        parts, draws = zip(*self._kept, strict=True)
        self._kept = [(as_one_batch(list(parts), parts[0].schema), np.concatenate(draws))]

    def _keep(self, batch: pa.RecordBatch, draws: Draws) -> None:
        import numpy as np

        chosen = np.flatnonzero(draws < self._probability)
        if len(chosen):
            part = batch.take(arrow_integers(*chosen.tolist()))
            self._kept.append((part, draws[chosen]))
            self._kept_rows += len(chosen)
            self._kept_bytes += part.nbytes


def as_one_batch(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """Return all rows in one batch, which is empty if there are no batches."""
    columns = [
        pa.concat_arrays([batch.column(i) for batch in batches] or [pa.nulls(0, f.type)]) for i, f in enumerate(schema)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


class ValueCounts:
    """Exact counts of a column's values; given up when there are too many different values, or long ones."""

    def __init__(self, most_values: int) -> None:
        self._most_values = most_values
        self._counts: Counter[Any] | None = Counter()

    @staticmethod
    def can_count(kind: pa.DataType) -> bool:
        """Return whether Python and Arrow agree on which values of the type are equal."""
        return bool(is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))

    def add(self, column: pa.Array) -> bool:
        """Count the next batch; return whether counting goes on."""
        if self._counts is None:
            return False
        counts = pc.value_counts(column.drop_null() if column.null_count else column)
        values = counts.field("values")
        if len(values) > self._most_values or _has_long_text(values):
            self._counts = None
            return False
        for value, count in zip(values.to_pylist(), counts.field("counts").to_pylist(), strict=True):
            self._counts[value] += count
        if len(self._counts) > self._most_values:
            self._counts = None
        return self._counts is not None

    def ranked(self) -> tuple[tuple[JsonValue, int], ...] | None:
        """Return every value with its count, the commonest first, then by value; None if counting was given up."""
        if self._counts is None:
            return None
        return tuple(sorted(self._counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _has_long_text(values: pa.Array) -> bool:
    return is_text(values.type) and (pc.max(pc.binary_length(values)).as_py() or 0) > _LONGEST_COUNTED_BYTES


class TextLengths:
    """The lengths of texts in characters, and how many texts are empty, or begin or end with a blank."""

    def __init__(self) -> None:
        self._shortest: int | None = None
        self._longest = 0
        self._characters = 0
        self._count = 0
        self._empty_count = 0
        self._padded_count = 0

    def add(self, column: pa.Array) -> None:
        """Measure the next batch; nulls are ignored."""
        import numpy as np

        valid = column.drop_null() if column.null_count else column
        if not len(valid):
            return
        offsets, data = _text_buffers(valid)
        lengths = np.diff(offsets)
        used = data[offsets[0] : offsets[-1]]
        if len(used) and used.max() >= _FIRST_NOT_ASCII:
            lengths = _character_lengths(valid)
        shortest = int(lengths.min())
        self._shortest = shortest if self._shortest is None else min(self._shortest, shortest)
        self._longest = max(self._longest, int(lengths.max()))
        self._characters += int(lengths.sum())
        self._count += len(valid)
        self._count_blanks(valid, offsets, data)

    def statistics(self) -> dict[str, Any]:
        """Return these fields of a `TextProfile`; all are zero if there was no text."""
        return {
            "shortest": self._shortest or 0,
            "longest": self._longest,
            "mean_length": self._characters / self._count if self._count else 0.0,
            "empty_count": self._empty_count,
            "padded_count": self._padded_count,
        }

    def _count_blanks(self, valid: pa.Array, offsets: Integers, data: Bytes) -> None:
        firsts, lasts = offsets[:-1], offsets[1:] - 1
        if not self._shortest:
            is_filled = lasts >= firsts
            firsts, lasts = firsts[is_filled], lasts[is_filled]
        is_padded = (data[firsts] <= _LAST_BLANK) | (data[lasts] <= _LAST_BLANK)
        empty_count = len(valid) - len(firsts)
        if is_padded.any():
            # The exact functions are slower, but such batches are rare. A text of blanks alone is empty.
            trimmed = pc.utf8_trim_whitespace(valid)
            self._padded_count += _count(pc.not_equal(pc.binary_length(trimmed), pc.binary_length(valid)))
            empty_count = _count(pc.invert(pc.match_substring_regex(trimmed, "(?s).")))
        self._empty_count += empty_count


def _count(mask: pa.Array) -> int:
    return int(pc.sum(mask).as_py() or 0)


def _text_buffers(texts: pa.Array) -> tuple[Integers, Bytes]:
    """Return the offsets of the texts in the bytes of all, with the end of the last one, and these bytes."""
    import numpy as np

    kind: Any = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, offsets, data = texts.buffers()
    width = np.dtype(kind).itemsize
    integers = np.frombuffer(offsets, kind, len(texts) + 1, texts.offset * width)
    return integers, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)


def _character_lengths(texts: pa.Array) -> Integers:
    import numpy as np

    lengths = pc.utf8_length(texts)
    kind: Any = np.int64 if pa.types.is_int64(lengths.type) else np.int32
    return np.frombuffer(lengths.buffers()[1], kind, len(lengths), lengths.offset * np.dtype(kind).itemsize)
