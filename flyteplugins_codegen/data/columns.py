"""The statistics of one column, gathered batch by batch in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import JsonValue

from flyteplugins_codegen.data.values import json_values
from flyteplugins_codegen.models.profile import ColumnProfile

_MOST_TOP_VALUES = 10
_FEW_VALUES = 20
_MANY_CATEGORIES = 1000
_MOST_SHOWN_CATEGORIES = 12
_MOST_PENDING = 256


class Highlight(NamedTuple):
    """A row of a batch that shows something of a column; the newest of equal `kind` and `value` counts."""

    kind: str
    value: JsonValue
    row: int


class ColumnStatistics:
    """One column's statistics so far."""

    def __init__(self, field: pa.Field, most_tracked_bytes: int) -> None:
        self._field = field
        self._null_count, self._valid_count = 0, 0
        self._extremes = _Extremes()
        self._sums: list[float] = []
        self._counts = _ValueCounts(most_tracked_bytes)
        self._seen: set[JsonValue] = set()

    def add(self, column: pa.Array) -> Iterator[Highlight]:
        """Take in the next batch's comparable column; what is worth showing of it. Exhaust it before the next batch."""
        if column.null_count:
            if not self._null_count:
                yield Highlight("null", None, pc.indices_nonzero(pc.is_null(column))[0].as_py())
            self._null_count += column.null_count
        valid = column.drop_null() if column.null_count else column
        self._valid_count += len(valid)
        if not len(valid) or not _is_comparable(column.type):
            return
        yield from self._extremes.add(column)
        if _is_number(column.type):
            self._sums.append(pc.sum(valid.cast(pa.float64(), safe=False)).as_py())
        yield from self._new_categories(column, self._counts.add(valid))

    def _new_categories(self, column: pa.Array, values: pa.Array | None) -> Iterator[Highlight]:
        """The first row of every value of a column that holds few different ones."""
        if values is None or not _is_category(column.type) or len(self._seen) > _MOST_SHOWN_CATEGORIES:
            return
        if len(values) > _MOST_SHOWN_CATEGORIES:
            self._seen.update(range(_MOST_SHOWN_CATEGORIES + 1))
            return
        for value in values:
            shown = value.as_py()
            if shown not in self._seen:
                self._seen.add(shown)
                yield Highlight("category", repr(shown), pc.index(column, value).as_py())

    def profile(self) -> ColumnProfile:
        """The column as it stands."""
        minimum, maximum = self._extremes.values()
        # Nothing was counted of values that cannot be compared, such as lists.
        distinct = self._counts.distinct_count() if minimum is not None or not self._valid_count else None
        metadata = {key.decode(): value.decode() for key, value in (self._field.metadata or {}).items()}
        return ColumnProfile(
            name=self._field.name,
            arrow_type=metadata.get("shown_type", str(self._field.type)),
            null_count=self._null_count,
            distinct_count=distinct,
            minimum=minimum,
            maximum=maximum,
            mean=self._mean(),
            is_unique=bool(self._valid_count) and not self._null_count and distinct == self._valid_count,
            top_values=self._top_values(distinct),
            pandas_dtype=metadata.get("pandas_dtype"),
            is_index="is_index" in metadata,
        )

    def _mean(self) -> float | None:
        """None where there is no number, or infinities of both signs."""
        total = sum(self._sums) if any(map(math.isinf, self._sums)) else math.fsum(self._sums)
        return total / self._valid_count if self._sums and not math.isnan(total) else None

    def _top_values(self, distinct: int | None) -> tuple[tuple[JsonValue, int], ...]:
        """The commonest values, where values repeat enough to be categories."""
        if distinct is None or distinct == self._valid_count:
            return ()
        is_category = _is_category(self._field.type) and distinct <= min(_MANY_CATEGORIES, self._valid_count // 2)
        return self._counts.top(_MOST_TOP_VALUES) if is_category or distinct <= _FEW_VALUES else ()


class _Extremes:
    """The least and the greatest value."""

    def __init__(self) -> None:
        self._least: Any = None
        self._greatest: Any = None

    def add(self, column: pa.Array) -> Iterator[Highlight]:
        both = pc.min_max(column)
        is_shown = _is_number(column.type) or pa.types.is_temporal(column.type)
        if self._least is None or pc.less(both["min"], self._least).as_py():
            self._least = both["min"]
            if is_shown:
                yield Highlight("minimum", None, pc.index(column, self._least).as_py())
        if self._greatest is None or pc.greater(both["max"], self._greatest).as_py():
            self._greatest = both["max"]
            if is_shown:
                yield Highlight("maximum", None, pc.index(column, self._greatest).as_py())

    def values(self) -> tuple[JsonValue, JsonValue]:
        return _json_value(self._least), _json_value(self._greatest)


class _ValueCounts:
    """How often each value occurs, as long as that fits a bound of bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._merged: _Counted | None = None
        self._pending: list[_Counted] = []
        self._pending_bytes = 0
        self._is_over = False

    def add(self, valid: pa.Array) -> pa.Array | None:
        """Count the batch's values; its different ones, None once there are too many."""
        if self._is_over:
            return None
        counts = pc.value_counts(valid)
        found = _Counted(counts.field("values"), counts.field("counts"))
        self._pending.append(found)
        self._pending_bytes += found.size_bytes
        # Merging only when about as much is pending as may be merged keeps the whole work near linear.
        if self._pending_bytes >= self._most_bytes // 2 or len(self._pending) >= _MOST_PENDING:
            self._merge()
        return found.values

    def distinct_count(self) -> int | None:
        self._merge()
        if self._is_over:
            return None
        return len(self._merged.values) if self._merged is not None else 0

    def top(self, limit: int) -> tuple[tuple[JsonValue, int], ...]:
        """The commonest values with their counts; of equally common ones the least first."""
        self._merge()
        if self._merged is None:
            return ()
        table = pa.table({"value": self._merged.values, "count": self._merged.counts})
        ranked = table.sort_by([("count", "descending"), ("value", "ascending")]).slice(0, limit)
        values = json_values(ranked["value"].combine_chunks())
        return tuple(zip(values, ranked["count"].to_pylist(), strict=True))

    def _merge(self) -> None:
        if not self._pending:
            return
        parts = [*([self._merged] if self._merged is not None else []), *self._pending]
        self._pending, self._pending_bytes = [], 0
        self._merged = parts[0] if len(parts) == 1 else _summed(parts)
        if self._merged.size_bytes > self._most_bytes:
            self._merged, self._is_over = None, True


class _Counted(NamedTuple):
    """Different values, and how often each occurs."""

    values: pa.Array
    counts: pa.Array

    @property
    def size_bytes(self) -> int:
        return int(self.values.nbytes + self.counts.nbytes)


def _summed(parts: list[_Counted]) -> _Counted:
    """The parts as one. Neither by Arrow's `group_by` nor by its `to_numpy`: both import pandas."""
    import numpy as np

    encoded = pc.dictionary_encode(pa.concat_arrays([part.values for part in parts]))
    counts = pa.concat_arrays([part.counts for part in parts])
    places, weights = (
        np.frombuffer(array.buffers()[1], kind, len(array), array.offset * np.dtype(kind).itemsize)
        for array, kind in ((encoded.indices, np.int32), (counts, np.int64))
    )
    # As floats these sums are exact up to 2**53, which no file reaches.
    sums = np.bincount(places, weights=weights).astype(np.int64)
    return _Counted(encoded.dictionary, pa.Array.from_buffers(pa.int64(), len(sums), [None, pa.py_buffer(sums)]))


def _json_value(scalar: Any) -> JsonValue:
    return None if scalar is None else json_values(pa.repeat(scalar, 1))[0]


def _is_comparable(kind: pa.DataType) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_null(kind) or pa.types.is_interval(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_category(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_category(kind.value_type)
    return bool(pa.types.is_boolean(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind))
