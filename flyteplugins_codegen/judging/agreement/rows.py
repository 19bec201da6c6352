"""Compares two tables: columns by name, rows as a multiset, and their order where it is asked for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from flyteplugins_codegen.judging.agreement.cells import (
    CellKind,
    Leniency,
    Number,
    cell_key,
    common_kind,
    is_null,
    read_number,
    same_numbers,
)
from flyteplugins_codegen.judging.agreement.files import Table
from flyteplugins_codegen.judging.agreement.order import RowOrder

_MOST_MATCHED_ROWS = 300
_MOST_COMPARED_ROWS = 200
_MOST_DECIMALS = 15
_FEW_ROWS = 10


@dataclass(frozen=True, slots=True)
class TableDifference:
    """The first difference of two tables: where it is, and what stands there in either."""

    where: str
    one: str
    other: str
    is_order_only: bool = False


def compare_tables(one: Table, other: Table, order: RowOrder, leniency: Leniency) -> TableDifference | None:
    """Return the first difference of two tables, one of columns, rows or cells before one of their order; else None."""
    columns = _compare_columns(one, other)
    if isinstance(columns, TableDifference):
        return columns
    pair = _Pair.of(one, other, columns, leniency)
    matched = _match(pair)
    left = [row for row in range(len(pair.one)) if row not in matched]
    taken = set(matched.values())
    right = [row for row in range(len(pair.other)) if row not in taken]
    if left or right:
        return _row_difference(pair, left, right)
    return None if order == "free" else _order_difference(pair, order)


# --- columns ---


def _compare_columns(one: Table, other: Table) -> tuple[str, ...] | TableDifference:
    """Return the columns to compare, in the order of `one`."""
    missing = [name for name in one.columns if name not in other.columns and not _is_optional(one, other, name)]
    added = [name for name in other.columns if name not in one.columns and not _is_optional(other, one, name)]
    if missing or added:
        return TableDifference("columns", ", ".join(one.columns), ", ".join(other.columns))
    return tuple(name for name in one.columns if name in other.columns)


def _is_optional(table: Table, other: Table, name: str) -> bool:
    """Whether a column may be absent from the other table: it holds no value, and rows there may lack columns."""
    position = table.columns.index(name)
    return (table.is_sparse or other.is_sparse) and all(is_null(row[position]) for row in table.rows)


@dataclass(frozen=True)
class _Column:
    name: str
    kind: CellKind
    is_exact: bool


@dataclass(frozen=True)
class _Pair:
    """The rows of two tables in the same columns, every cell as what is compared: a `Number`, or a key."""

    columns: tuple[_Column, ...]
    one: list[tuple[Any, ...]]
    other: list[tuple[Any, ...]]
    shown: tuple[Table, Table]
    positions: tuple[list[int], list[int]]
    leniency: Leniency

    @classmethod
    def of(cls, one: Table, other: Table, names: Sequence[str], leniency: Leniency) -> _Pair:
        """Read the columns of both tables."""
        positions = [one.columns.index(name) for name in names], [other.columns.index(name) for name in names]
        columns, cells = [], []
        for name, at, at_other in zip(names, *positions, strict=True):
            first = [row[at] for row in one.rows]
            second = [row[at_other] for row in other.rows]
            kind = common_kind([*first, *second])
            keys = [cell_key(cell, kind) for cell in first], [cell_key(cell, kind) for cell in second]
            is_exact = kind != "number" or Counter(keys[0]) == Counter(keys[1])
            columns.append(_Column(name, kind, is_exact))
            cells.append(keys if is_exact else _numbers(first, second))
        rows = [list(zip(*side, strict=True)) for side in zip(*cells, strict=True)] if cells else [[], []]
        return cls(tuple(columns), rows[0], rows[1], (one, other), positions, leniency)

    def key(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what must be equal in two rows that are the same: the exact columns, and which numbers are null."""
        return tuple(cell if column.is_exact else cell is None for column, cell in zip(self.columns, row, strict=True))

    def same_cell(self, position: int, one: Any, other: Any) -> bool:
        """Whether two cells of a column are the same."""
        if one is None or other is None or self.columns[position].is_exact:
            return bool(one == other)
        return same_numbers(one, other, self.leniency)

    def same_row(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        """Whether all cells are the same."""
        return all(self.same_cell(position, a, b) for position, (a, b) in enumerate(zip(one, other, strict=True)))

    def text(self, side: int, row: int, position: int) -> str:
        """Return a cell as it stands in its table."""
        cell = self.shown[side].rows[row][self.positions[side][position]]
        return "null" if is_null(cell) else str(cell)

    def row_text(self, side: int, row: int) -> str:
        """Return a row with the names of its columns."""
        return ", ".join(f"{column.name}={self.text(side, row, at)}" for at, column in enumerate(self.columns))


def _numbers(one: list[Any], other: list[Any]) -> tuple[list[Number | None], list[Number | None]]:
    """Return the numbers of a column, each with the decimals that the whole column of its side is rounded to.

    A side is taken for rounded if most numbers of the other one show more decimals; otherwise both have the same.
    """
    sides = [[None if is_null(cell) else read_number(cell) for cell in cells] for cells in (one, other)]
    decimals = [
        [number.decimals for number in side if number and not float(number.value).is_integer()] for side in sides
    ]
    most = [min(max(side, default=0), _MOST_DECIMALS) for side in decimals]
    fewer = 0 if most[0] <= most[1] else 1
    others = decimals[1 - fewer]
    is_rounded = most[fewer] > 0 and sum(count > most[fewer] for count in others) * 2 > len(others)
    shown = most if is_rounded else [max(most)] * 2
    # `same_numbers` asks for two more decimals where one is shown; a whole column is evidence enough.
    shown = [shown[0] + (2 if shown[0] > shown[1] else 0), shown[1] + (2 if shown[1] > shown[0] else 0)]
    first, second = (
        [number and Number(number.value, count) for number in side] for side, count in zip(sides, shown, strict=True)
    )
    return first, second


# --- rows ---


def _match(pair: _Pair) -> dict[int, int]:
    """Return which row of the other table each row is, each at most once; those that are nowhere are left out."""
    groups: dict[Any, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, rows in enumerate((pair.one, pair.other)):
        for number, row in enumerate(rows):
            groups[pair.key(row)][side].append(number)
    if all(column.is_exact for column in pair.columns):
        return {row: match for one, other in groups.values() for row, match in zip(one, other, strict=False)}
    return {row: match for one, other in groups.values() for row, match in _match_group(pair, one, other)}


def _match_group(pair: _Pair, one: list[int], other: list[int]) -> Iterator[tuple[int, int]]:
    """Yield pairs of rows that are the same, of rows that differ at most in numbers."""
    inexact = [position for position, column in enumerate(pair.columns) if not column.is_exact]

    def size(row: tuple[Any, ...]) -> tuple[float, ...]:
        return tuple(0.0 if row[position] is None else row[position].value for position in inexact)

    one = sorted(one, key=lambda row: size(pair.one[row]))
    other = sorted(other, key=lambda row: size(pair.other[row]))
    if len(one) == len(other) and all(
        pair.same_row(pair.one[row], pair.other[match]) for row, match in zip(one, other, strict=True)
    ):
        yield from zip(one, other, strict=True)
    elif max(len(one), len(other)) <= _MOST_MATCHED_ROWS:
        yield from _match_by_paths(pair, one, other)
    else:
        yield from _match_in_step(pair, one, other, size)


def _match_by_paths(pair: _Pair, one: list[int], other: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of a largest matching, found by augmenting paths."""
    same = {row: [match for match in other if pair.same_row(pair.one[row], pair.other[match])] for row in one}
    taken: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for match in same[row]:
            if match not in seen:
                seen.add(match)
                if match not in taken or place(taken[match], seen):
                    taken[match] = row
                    return True
        return False

    for row in one:
        place(row, set())
    return ((row, match) for match, row in taken.items())


def _match_in_step(pair: _Pair, one: list[int], other: list[int], size: Any) -> Iterator[tuple[int, int]]:
    """Yield pairs of two sorted lists, passing over the smaller row where two are not the same."""
    at = at_other = 0
    while at < len(one) and at_other < len(other):
        row, match = pair.one[one[at]], pair.other[other[at_other]]
        if pair.same_row(row, match):
            yield one[at], other[at_other]
            at, at_other = at + 1, at_other + 1
        elif size(row) <= size(match):
            at += 1
        else:
            at_other += 1


def _row_difference(pair: _Pair, left: list[int], right: list[int]) -> TableDifference:
    """Describe the first row that only one table has; beside the most similar one of the other, cell by cell."""
    counts = f"{len(pair.one)} rows", f"{len(pair.other)} rows"
    if not left or not right:
        side, row = (0, left[0]) if left else (1, right[0])
        extra = f"{counts[side]}, one of them {pair.row_text(side, row)}"
        return TableDifference("rows", *((extra, counts[1]) if side == 0 else (counts[0], extra)))
    row, match, alike = max(
        ((row, match, _count_alike(pair, row, match)) for row in left[:20] for match in right[:_MOST_COMPARED_ROWS]),
        key=lambda found: found[2],
    )
    if not alike and len(pair.columns) > 1:
        return TableDifference(f"row {left[0] + 1}", pair.row_text(0, left[0]), pair.row_text(1, right[0]))
    cells = zip(pair.one[row], pair.other[match], strict=True)
    at = next(position for position, (a, b) in enumerate(cells) if not pair.same_cell(position, a, b))
    known = next((position for position, column in enumerate(pair.columns) if position != at and column.is_exact), None)
    beside = "" if known is None else f", where {pair.columns[known].name} is {pair.text(0, row, known)}"
    if len(pair.one) != len(pair.other):
        beside += f"; {counts[0]} against {counts[1]}"
    where = f"column {pair.columns[at].name!r}, row {row + 1}{beside}"
    return TableDifference(where, pair.text(0, row, at), pair.text(1, match, at))


def _count_alike(pair: _Pair, row: int, match: int) -> int:
    cells = zip(pair.one[row], pair.other[match], strict=True)
    return sum(pair.same_cell(position, a, b) for position, (a, b) in enumerate(cells))


# --- order ---


def _order_difference(pair: _Pair, order: RowOrder) -> TableDifference | None:
    """Return the first row that stands elsewhere, unless only rows that are equal in the sorted column do.

    The tables have the same rows.
    """
    rows = zip(pair.one, pair.other, strict=True)
    first = next((number for number, (row, match) in enumerate(rows) if not pair.same_row(row, match)), None)
    if first is None or (order == "asked" and any(_is_sorted_alike(pair, at) for at in range(len(pair.columns)))):
        return None
    return TableDifference(
        f"order of rows, from row {first + 1}", pair.row_text(0, first), pair.row_text(1, first), True
    )


def _is_sorted_alike(pair: _Pair, position: int) -> bool:
    """Whether both tables are sorted by this column in the same direction, so that they differ among equals only.

    A column of one value sorts nothing, but in a table of few rows it may be the one that was to be sorted by.
    """
    if any(not pair.same_cell(position, a[position], b[position]) for a, b in zip(pair.one, pair.other, strict=True)):
        return False
    values = [_comparable(row[position]) for row in pair.one]
    if len(set(values)) == 1:
        return pair.columns[position].kind == "number" and len(values) <= _FEW_ROWS
    steps = list(pairwise(values))
    return all(a <= b for a, b in steps) or all(a >= b for a, b in steps)


def _comparable(cell: Any) -> tuple[bool, Any]:
    """Return what orders cells of one column, nulls at the end."""
    value = cell.value if isinstance(cell, Number) else cell
    return (value is None, "" if value is None else str(value).casefold() if isinstance(value, str) else value)
