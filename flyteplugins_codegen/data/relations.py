"""The relations within a table in memory: candidate keys, mirrored columns, duplicate rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flyteplugins_codegen.data.arrow import is_comparable

if TYPE_CHECKING:
    import numpy as np

    Codes = np.ndarray[Any, np.dtype[np.int64]]

_MOST_KEYS = 3
_MOST_PAIRED_COLUMNS = 8
_MOST_MIRRORS = 10
_FEWEST_ROWS_FOR_MIRRORS = 20


@dataclass(frozen=True)
class Relations:
    """See `SampleProfile`. `duplicate_row_count` is None if rows hold values that cannot be compared."""

    candidate_keys: tuple[tuple[str, ...], ...] = ()
    mirrors: tuple[tuple[str, str], ...] = ()
    duplicate_row_count: int | None = None


def relate(batch: pa.RecordBatch) -> Relations:
    """Return the relations within a comparable batch."""
    names = batch.schema.names
    codes = {
        name: _codes(column)
        for name, column in zip(names, batch.columns, strict=True)
        if is_comparable(column.type) or column.null_count == len(column)
    }
    return Relations(
        candidate_keys=tuple(_keys(batch, codes)),
        mirrors=tuple(_mirrors(codes, batch.num_rows))[:_MOST_MIRRORS],
        duplicate_row_count=_count_duplicates(codes, batch.num_rows) if len(codes) == batch.num_columns else None,
    )


def _codes(column: pa.Array) -> Codes:
    """Return a number for each value: equal numbers for equal values, in the order in which they first occur."""
    import numpy as np

    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    indices = column.dictionary_encode(null_encoding="encode").indices
    buffer = indices.buffers()[1]
    return np.frombuffer(buffer, np.int32, len(indices), indices.offset * 4).astype(np.int64)


def _distinct(codes: Codes) -> int:
    return int(codes.max()) + 1 if len(codes) else 0


def _combined(left: Codes, right: Codes) -> Codes:
    """Return a number for each pair of values."""
    import numpy as np

    pairs: Codes = np.unique(left * _distinct(right) + right, return_inverse=True)[1].astype(np.int64)
    return pairs


def _keys(batch: pa.RecordBatch, codes: dict[str, Codes]) -> Iterator[tuple[str, ...]]:
    """Yield the columns without two equal values, or else such pairs of columns; no columns with nulls or floats."""
    possible = {
        name: column
        for name, column in codes.items()
        if not batch.column(name).null_count and not pa.types.is_floating(batch.column(name).type)
    }
    if batch.num_rows <= 1:
        return
    single = [(name,) for name, column in possible.items() if _distinct(column) == batch.num_rows]
    yield from single[:_MOST_KEYS]
    if not single:
        yield from list(_pair_keys(possible, batch.num_rows))[:_MOST_KEYS]


def _pair_keys(possible: dict[str, Codes], row_count: int) -> Iterator[tuple[str, ...]]:
    paired = [name for name, column in possible.items() if _distinct(column) > 1][:_MOST_PAIRED_COLUMNS]
    for left, right in combinations(paired, 2):
        if _distinct(possible[left]) * _distinct(possible[right]) >= row_count:
            pairs = _combined(possible[left], possible[right])
            if _distinct(pairs) == row_count:
                yield left, right


def _mirrors(codes: dict[str, Codes], row_count: int) -> Iterator[tuple[str, str]]:
    """Yield pairs of columns where each value of one occurs with one value of the other.

    Constant columns and columns of different values only are skipped: they would all mirror each other.
    """
    if row_count < _FEWEST_ROWS_FOR_MIRRORS:
        return
    first: dict[bytes, str] = {}
    for name, column in codes.items():
        if 1 < _distinct(column) <= row_count // 2:
            other = first.setdefault(column.tobytes(), name)
            if other != name:
                yield other, name


def _count_duplicates(codes: dict[str, Codes], row_count: int) -> int:
    combined: Codes | None = None
    for column in sorted(codes.values(), key=_distinct, reverse=True):
        combined = column if combined is None else _combined(combined, column)
        if _distinct(combined) == row_count:
            return 0
    return 0 if combined is None else row_count - _distinct(combined)
