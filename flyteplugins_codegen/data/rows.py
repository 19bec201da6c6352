"""Which rows of a sample are worth showing: chosen while it streams by, the same ones at every run."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pydantic import JsonValue

from flyteplugins_codegen.data.columns import Highlight
from flyteplugins_codegen.data.values import json_values

# A table of at most so many rows is shown whole.
_HEAD_ROWS = 10
_FIRST_ROWS = 3
_RANKS = ("first", "last", "null", "minimum", "maximum", "category")


class RowPicker:
    """Keeps the first rows, the last one, and one row for every highlight of a column."""

    def __init__(self, names: list[str], most_rows: int) -> None:
        self._names, self._most_rows = names, most_rows
        self._row_count = 0
        self._picks: dict[tuple[Any, ...], tuple[int, pa.RecordBatch]] = {}
        self._last: pa.RecordBatch | None = None

    def add(self, batch: pa.RecordBatch, highlights: Iterable[tuple[int, Highlight]]) -> None:
        """Take in the next batch and what its columns, by position, show in it."""
        if self._most_rows and batch.num_rows:
            for row in range(min(_HEAD_ROWS - self._row_count, batch.num_rows)):
                self._pick(("first", 0, self._row_count + row), batch, row)
            self._last = batch
        for position, highlight in highlights:
            if self._most_rows:
                self._pick((highlight.kind, position, highlight.value), batch, highlight.row)
        self._row_count += batch.num_rows

    def rows(self) -> tuple[dict[str, JsonValue], ...]:
        """The rows, no two the same, the most telling first: all of a small table, in its order."""
        if self._last is not None:
            self._pick(("last", 0, None), self._last, self._last.num_rows - 1, self._row_count - self._last.num_rows)
        chosen: dict[int, dict[str, JsonValue]] = {}
        for (kind, position, value), (number, row) in sorted(self._picks.items(), key=_rank):
            if len(chosen) == self._most_rows:
                break
            if kind == "first" and value >= _FIRST_ROWS and self._row_count > _HEAD_ROWS:
                continue
            column = self._names[position]
            is_shown = kind == "category" and any(repr(other[column]) == value for other in chosen.values())
            if number not in chosen and not is_shown:
                chosen[number] = self._values(row)
        return tuple(chosen.values())

    def _pick(self, key: tuple[Any, ...], batch: pa.RecordBatch, row: int, offset: int | None = None) -> None:
        number = (self._row_count if offset is None else offset) + row
        # `take` copies the row: a slice would keep its whole batch in memory.
        self._picks[key] = (number, batch.take(_index(row)))

    def _values(self, row: pa.RecordBatch) -> dict[str, JsonValue]:
        columns = (json_values(column)[0] for column in row.columns)
        return dict(zip(self._names, columns, strict=True))


def _rank(pick: tuple[tuple[Any, ...], Any]) -> int:
    return _RANKS.index(pick[0][0])


def _index(row: int) -> pa.Array:
    """An Arrow array of this one number; made of bytes, since `pa.array` would import pandas."""
    return pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(struct.pack("=q", row))])
