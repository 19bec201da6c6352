"""How the columns and rows of a table that is in memory stand to each other: keys, mirrors, repeated rows."""

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
    """See `SampleProfile`. `duplicate_row_count` is None where rows hold values that cannot be compared."""

    candidate_keys: tuple[tuple[str, ...], ...] = ()
    mirrors: tuple[tuple[str, str], ...] = ()
    duplicate_row_count: int | None = None


def relate(batch: pa.RecordBatch) -> Relations:
    """The relations within a comparable batch."""
    names = batch.schema.names
    codes = {
        name: _codes(column)
        for name, column in zip(names, batch.columns, strict=True)
        if is_comparable(column.type) or column.null_count == len(column)
    }
    return Relations(
        candidate_keys=tuple(_keys(batch, codes)),
        mirrors=tuple(_mirrors(codes, batch.num_rows))[:_MOST_MIRRORS],
        duplicate_row_count=_duplicates(codes, batch.num_rows) if len(codes) == batch.num_columns else None,
    )


def _codes(column: pa.Array) -> Codes:
    """A number for each value, equal ones for equal values, in the order in which they first occur."""
    import numpy as np

    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    indices = column.dictionary_encode(null_encoding="encode").indices
    buffer = indices.buffers()[1]
    return np.frombuffer(buffer, np.int32, len(indices), indices.offset * 4).astype(np.int64)


def _distinct(codes: Codes) -> int:
    return int(codes.max()) + 1 if len(codes) else 0


def _combined(left: Codes, right: Codes) -> Codes:
    """A number for each pair of values."""
    import numpy as np

    pairs: Codes = np.unique(left * _distinct(right) + right, return_inverse=True)[1].astype(np.int64)
    return pairs


def _keys(batch: pa.RecordBatch, codes: dict[str, Codes]) -> Iterator[tuple[str, ...]]:
    """The columns that tell all rows apart, or else the pairs of columns that do; nulls and fractions are no keys."""
    possible = {
        name: found
        for name, found in codes.items()
        if not batch.column(name).null_count and not pa.types.is_floating(batch.column(name).type)
    }
    if batch.num_rows <= 1:
        return
    alone = [(name,) for name, found in possible.items() if _distinct(found) == batch.num_rows]
    yield from alone[:_MOST_KEYS]
    if not alone:
        yield from list(_pair_keys(possible, batch.num_rows))[:_MOST_KEYS]


def _pair_keys(possible: dict[str, Codes], row_count: int) -> Iterator[tuple[str, ...]]:
    paired = [name for name, found in possible.items() if _distinct(found) > 1][:_MOST_PAIRED_COLUMNS]
    for left, right in combinations(paired, 2):
        if _distinct(possible[left]) * _distinct(possible[right]) >= row_count:
            pairs = _combined(possible[left], possible[right])
            if _distinct(pairs) == row_count:
                yield left, right


def _mirrors(codes: dict[str, Codes], row_count: int) -> Iterator[tuple[str, str]]:
    """Pairs of columns of which each value of one goes with one value of the other.

    Columns that tell every row, or none, from the others would all mirror each other.
    """
    if row_count < _FEWEST_ROWS_FOR_MIRRORS:
        return
    first: dict[bytes, str] = {}
    for name, found in codes.items():
        if 1 < _distinct(found) <= row_count // 2:
            other = first.setdefault(found.tobytes(), name)
            if other != name:
                yield other, name


def _duplicates(codes: dict[str, Codes], row_count: int) -> int:
    combined: Codes | None = None
    for found in sorted(codes.values(), key=_distinct, reverse=True):
        combined = found if combined is None else _combined(combined, found)
        if _distinct(combined) == row_count:
            return 0
    return 0 if combined is None else row_count - _distinct(combined)
