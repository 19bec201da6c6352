"""A stream of batches, watched as it passes: what one look in the order of the rows can tell."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import JsonValue

from flyteplugins_codegen.data.rows import RowPicker
from flyteplugins_codegen.data.sampling import RowSample
from flyteplugins_codegen.data.text_lengths import TextLengths
from flyteplugins_codegen.data.value_counts import ValueCounts
from flyteplugins_codegen.data.values import comparable_batch, is_comparable, is_text

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
