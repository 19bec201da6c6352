"""Chooses the rows of a sample to show, while it is streamed; the same rows at every run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import JsonValue

from flyteplugins_codegen.data.arrow import arrow_integers, is_comparable, is_number, json_values
from flyteplugins_codegen.data.columns import is_category

# A table of at most this many rows is shown whole.
_HEAD_ROWS = 10
_FIRST_ROWS = 3
_MOST_SHOWN_CATEGORIES = 12
_MOST_CELLS = 4000
_MOST_HIGHLIGHTED_COLUMNS = 32
_RANKS = ("first", "last", "null", "minimum", "maximum", "category")


class Highlight(NamedTuple):
    """A row of a batch that shows something about a column; replaced by a later one of the same `kind` and `value`."""

    kind: str
    value: JsonValue
    row: int


class RowPicker:
    """Keeps the first rows, the last one, and for each of the first columns the rows that show something about it.

    These are a row with a null, with the least value, with the greatest value, and one for every category if the
    column has few.
    """

    def __init__(self, names: list[str], max_rows: int) -> None:
        self._names = names
        self._most_rows = min(max_rows, max(1, _MOST_CELLS // max(1, len(names))))
        self._row_count = 0
        self._picks: dict[tuple[Any, ...], tuple[int, pa.RecordBatch]] = {}
        self._last: pa.RecordBatch | None = None
        # The Arrow objects of a row with thousands of columns take megabytes, so only rows that can be shown are kept.
        self._columns = [_ColumnHighlights() for _ in names[: min(_MOST_HIGHLIGHTED_COLUMNS, 4 * self._most_rows)]]

    def add(self, batch: pa.RecordBatch) -> None:
        """Look at the next comparable batch."""
        if self._most_rows and batch.num_rows:
            for row in range(min(_HEAD_ROWS - self._row_count, batch.num_rows, self._most_rows)):
                self._pick(("first", 0, self._row_count + row), batch, row)
            self._last = batch
            for position, column in enumerate(self._columns):
                for highlight in column.find(batch.column(position)):
                    self._pick((highlight.kind, position, highlight.value), batch, highlight.row)
        self._row_count += batch.num_rows

    def rows(self) -> tuple[dict[str, JsonValue], ...]:
        """Return the chosen rows, each once, the most useful first; all rows of a small table, in their order."""
        if self._last is not None:
            self._pick(("last", 0, None), self._last, self._last.num_rows - 1, self._row_count - self._last.num_rows)
        chosen: dict[int, dict[str, JsonValue]] = {}
        for (kind, position, value), (number, row) in sorted(self._picks.items(), key=_rank):
            if len(chosen) == self._most_rows:
                break
            if kind == "first" and value >= _FIRST_ROWS and self._row_count > _HEAD_ROWS:
                continue
            column = self._names[position]
            is_covered = kind == "category" and any(repr(other[column]) == value for other in chosen.values())
            if number not in chosen and not is_covered:
                values = (json_values(column)[0] for column in row.columns)
                chosen[number] = dict(zip(self._names, values, strict=True))
        return tuple(chosen.values())

    def _pick(self, key: tuple[Any, ...], batch: pa.RecordBatch, row: int, offset: int | None = None) -> None:
        number = (self._row_count if offset is None else offset) + row
        # `take` copies the row: a slice would keep its whole batch in memory.
        self._picks[key] = (number, batch.take(arrow_integers(row)))


class _ColumnHighlights:
    """Finds the highlights of one column."""

    def __init__(self) -> None:
        self._least: Any = None
        self._greatest: Any = None
        self._has_null = False
        self._categories: set[JsonValue] = set()

    def find(self, column: pa.Array) -> Iterator[Highlight]:
        """Yield what the next batch shows for the first time."""
        if column.null_count and not self._has_null:
            self._has_null = True
            yield Highlight("null", None, pc.indices_nonzero(pc.is_null(column))[0].as_py())
        if column.null_count == len(column) or not is_comparable(column.type):
            return
        if is_number(column.type) or pa.types.is_temporal(column.type):
            yield from self._new_extremes(column)
        elif is_category(column.type):
            yield from self._new_categories(column)

    def _new_extremes(self, column: pa.Array) -> Iterator[Highlight]:
        ends = pc.min_max(column)
        if self._least is None or pc.less(ends["min"], self._least).as_py():
            self._least = ends["min"]
            yield Highlight("minimum", None, pc.index(column, self._least).as_py())
        if self._greatest is None or pc.greater(ends["max"], self._greatest).as_py():
            self._greatest = ends["max"]
            yield Highlight("maximum", None, pc.index(column, self._greatest).as_py())

    def _new_categories(self, column: pa.Array) -> Iterator[Highlight]:
        """Yield the first row of every value of a column that has few different values."""
        if len(self._categories) > _MOST_SHOWN_CATEGORIES:
            return
        values = pc.unique(column.drop_null())
        if len(values) > _MOST_SHOWN_CATEGORIES:
            self._categories.update(range(_MOST_SHOWN_CATEGORIES + 1))
            return
        for value in values:
            category = value.as_py()
            if category not in self._categories:
                self._categories.add(category)
                yield Highlight("category", repr(category), pc.index(column, value).as_py())


def _rank(pick: tuple[tuple[Any, ...], Any]) -> int:
    return _RANKS.index(pick[0][0])
