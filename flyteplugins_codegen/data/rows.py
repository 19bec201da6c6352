"""Which rows of a sample are worth showing: chosen while it streams by, the same ones at every run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import JsonValue

from flyteplugins_codegen.data.arrow import arrow_integers, is_comparable, is_number, json_values
from flyteplugins_codegen.data.columns import is_category

# A table of at most so many rows is shown whole.
_HEAD_ROWS = 10
_FIRST_ROWS = 3
_MOST_SHOWN_CATEGORIES = 12
_MOST_CELLS = 4000
_MOST_HIGHLIGHTED_COLUMNS = 32
_RANKS = ("first", "last", "null", "minimum", "maximum", "category")


class Highlight(NamedTuple):
    """A row of a batch that shows something of a column; the newest of equal `kind` and `value` counts."""

    kind: str
    value: JsonValue
    row: int


class RowPicker:
    """Keeps the first rows, the last one, and those that show something of the first columns.

    That is of each one with a null, its least, its greatest, and one of every category, as long as there are few.
    """

    def __init__(self, names: list[str], max_rows: int) -> None:
        self._names = names
        self._most_rows = min(max_rows, max(1, _MOST_CELLS // max(1, len(names))))
        self._row_count = 0
        self._picks: dict[tuple[Any, ...], tuple[int, pa.RecordBatch]] = {}
        self._last: pa.RecordBatch | None = None
        # A row of thousands of columns is megabytes of Arrow's own objects: none is kept that cannot be shown.
        self._columns = [_Watched() for _ in names[: min(_MOST_HIGHLIGHTED_COLUMNS, 4 * self._most_rows)]]

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in the next comparable batch."""
        if self._most_rows and batch.num_rows:
            for row in range(min(_HEAD_ROWS - self._row_count, batch.num_rows, self._most_rows)):
                self._pick(("first", 0, self._row_count + row), batch, row)
            self._last = batch
            for position, watched in enumerate(self._columns):
                self._pick_all(batch, position, watched.look(batch.column(position)))
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

    def _pick_all(self, batch: pa.RecordBatch, position: int, highlights: Iterable[Highlight]) -> None:
        for highlight in highlights:
            self._pick((highlight.kind, position, highlight.value), batch, highlight.row)

    def _pick(self, key: tuple[Any, ...], batch: pa.RecordBatch, row: int, offset: int | None = None) -> None:
        number = (self._row_count if offset is None else offset) + row
        # `take` copies the row: a slice would keep its whole batch in memory.
        self._picks[key] = (number, batch.take(arrow_integers(row)))

    def _values(self, row: pa.RecordBatch) -> dict[str, JsonValue]:
        columns = (json_values(column)[0] for column in row.columns)
        return dict(zip(self._names, columns, strict=True))


class _Watched:
    """What of one column was seen so far."""

    def __init__(self) -> None:
        self._least: Any = None
        self._greatest: Any = None
        self._has_null = False
        self._categories: set[JsonValue] = set()

    def look(self, column: pa.Array) -> Iterator[Highlight]:
        """What the next batch shows for the first time."""
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
        both = pc.min_max(column)
        if self._least is None or pc.less(both["min"], self._least).as_py():
            self._least = both["min"]
            yield Highlight("minimum", None, pc.index(column, self._least).as_py())
        if self._greatest is None or pc.greater(both["max"], self._greatest).as_py():
            self._greatest = both["max"]
            yield Highlight("maximum", None, pc.index(column, self._greatest).as_py())

    def _new_categories(self, column: pa.Array) -> Iterator[Highlight]:
        """The first row of every value of a column that holds few different ones."""
        if len(self._categories) > _MOST_SHOWN_CATEGORIES:
            return
        values = pc.unique(column.drop_null())
        if len(values) > _MOST_SHOWN_CATEGORIES:
            self._categories.update(range(_MOST_SHOWN_CATEGORIES + 1))
            return
        for value in values:
            shown = value.as_py()
            if shown not in self._categories:
                self._categories.add(shown)
                yield Highlight("category", repr(shown), pc.index(column, value).as_py())


def _rank(pick: tuple[tuple[Any, ...], Any]) -> int:
    return _RANKS.index(pick[0][0])
