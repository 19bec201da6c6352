"""Derives files that differ from a sample in values: nulls, equal values, values at a border, equal groups."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import Any

from flyteplugins_codegen.data.derived.cells import Column, spelled_date, spelled_number
from flyteplugins_codegen.data.derived.samples import Draft, Sample
from flyteplugins_codegen.data.derived.tables import Row, SampleTable
from flyteplugins_codegen.data.derived.wording import (
    Border,
    find_borders,
    find_column,
    speaks_of_missing_values,
    speaks_of_ties,
)

_CHANGED_ROWS = 3
"""How many rows get a null, or each value of a border; no more than a fifth of the rows are changed."""
_ROWS_A_TIE = 8
_FEW_VALUES = 12
"""A column of whole numbers with no more different values may hold codes, of which no new one is made up."""


def add_nulls(sample: Sample, description: str) -> Iterator[Draft]:
    """Yield files with nulls in columns that have some, or of which the description says that values may be missing."""
    is_settled = speaks_of_missing_values(description)
    for column in named_columns(sample, description):
        filled = [number for number, value in enumerate(column.values) if value is not None]
        if filled and not (column.is_fixed or column.is_key) and _may_be_null(column, description):
            null = _null_cell(sample, column)
            cells = dict.fromkeys(_spread(filled, _most_changed(sample)), null)
            rows = _with_cells(sample, column, cells)
            yield Draft(sample, "null", f"with more missing values in {column.name}", rows, is_settled=is_settled)


def _may_be_null(column: Column, description: str) -> bool:
    return None in column.values or speaks_of_missing_values(description, column.name)


def _null_cell(sample: Sample, column: Column) -> Any:
    """Return a null of the column, or one as the sample's other columns spell it."""
    known = [column, *sample.columns.values()]
    cells = (
        row[other.position]
        for other in known
        for row, value in zip(sample.rows, other.values, strict=True)
        if value is None
    )
    return sample.table.null_cell(sample.rows[0][column.position], next(cells, None))


def equal_values(sample: Sample, description: str) -> Iterator[Draft]:
    """Yield files in which rows that follow each other in the order of a column get the same value there."""
    is_settled = speaks_of_ties(description)
    for column in named_columns(sample, description):
        if not (column.is_number and column.is_free):
            continue
        order = sorted((number for number, value in enumerate(column.numbers) if value is not None), key=_by(column))
        # The largest values are those that a ranking shows, so these are made equal first.
        cells = {
            lower: sample.rows[higher][column.position]
            for higher, lower in islice(_unequal_pairs(column, order), max(_CHANGED_ROWS, len(order) // _ROWS_A_TIE))
            if _keeps_relations(sample, column, lower, column.numbers[higher])
        }
        if cells:
            rows = _with_cells(sample, column, cells)
            yield Draft(sample, "ties", f"with equal values in {column.name}", rows, is_settled=is_settled)


def _unequal_pairs(column: Column, order: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield pairs of rows that follow each other in this order with two values, each row in one pair."""
    taken = -1
    for one, other in pairwise(order):
        if one != taken and column.numbers[one] != column.numbers[other]:
            taken = other
            yield one, other


def _by(column: Column) -> Callable[[int], tuple[float, int]]:
    return lambda number: (-(column.numbers[number] or 0), number)


def border_values(sample: Sample, description: str) -> Iterator[Draft]:
    """Yield files with values just below, at and just above a number or a day that the description names."""
    ordered = tuple(column.name for column in sample.columns.values() if column.is_number or column.is_time)
    for order, border in enumerate(find_borders(description, ordered)):
        column = sample.columns[border.column]
        if column.is_fixed or (column.is_key and not column.is_time):
            continue
        values = _border_values(column, border)
        cells = _place_values(sample, column, values)
        if cells:
            rows = _with_cells(sample, column, cells)
            what = f"with {column.name} just below, at and just above {border.value}"
            is_settled = border.is_clear and not column.has_clock
            yield Draft(sample, "border", what, rows, is_settled=is_settled, order=order)


# --- values ---


def named_columns(sample: Sample, description: str) -> list[Column]:
    """Return the columns that the description names, in the order in which it does."""
    places = {name: find_column(name, description) for name in sample.columns}
    named = sorted((place, name) for name, place in places.items() if place is not None)
    return [sample.columns[name] for _, name in named]


def _most_changed(sample: Sample) -> int:
    return max(1, min(_CHANGED_ROWS, len(sample.rows) // 5))


def _spread(numbers: Sequence[int], count: int) -> list[int]:
    """Return `count` of the numbers, evenly spread."""
    return [numbers[(2 * part + 1) * len(numbers) // (2 * count)] for part in range(count)] if numbers else []


def _with_cells(sample: Sample, column: Column, cells: Mapping[int, Any]) -> list[Row]:
    return [
        (*row[: column.position], cells[number], *row[column.position + 1 :]) if number in cells else row
        for number, row in enumerate(sample.rows)
    ]


def _border_values(column: Column, border: Border) -> list[Any]:
    """Return the values just below, at and just above a border, as far as the column may hold them."""
    if isinstance(border.value, dt.date):
        days = (border.value + dt.timedelta(days=step) for step in (-1, 0, 1))
        values: list[Any] = list(days) if column.is_time else []
        return [day for day in values if column.is_near(day.toordinal())]
    if not column.is_number:
        return []
    at, step = float(border.value), column.step
    is_held = step < 1 or at.is_integer()  # 2.5 lies between two whole numbers
    around = (at - step, at, at + step) if is_held else (math.floor(at), math.ceil(at))
    held = {number for number in column.numbers if number is not None}
    may_be_codes = column.step == 1 and len(held) <= _FEW_VALUES
    values = [round(value, 9) for value in around if column.is_near(value)]
    return [value for value in values if value in held or not may_be_codes]


def _place_values(sample: Sample, column: Column, values: Sequence[Any]) -> dict[int, Any]:
    """Return new cells by row number: each value in some rows, where it contradicts no other column.

    Empty if not every value finds a row: the border would be shown from one side only.
    """
    filled = [number for number, value in enumerate(column.values) if value is not None]
    copies = 1 if column.is_unique else max(1, _most_changed(sample) - 1)
    cells: dict[int, Any] = {}
    for turn, value in enumerate(values):
        number_of = value.toordinal() if isinstance(value, dt.date) else value
        if column.is_unique and number_of in column.numbers:
            continue  # the sample holds it already
        rows = _rotated(filled, (2 * turn + 1) * len(filled) // (2 * len(values)))
        fitting = (row for row in rows if row not in cells and _keeps_relations(sample, column, row, number_of))
        chosen = list(islice(fitting, copies))
        spelled = [_spelled(sample.rows[row][column.position], sample.table, column, value) for row in chosen]
        if not chosen or None in spelled:
            return {}
        cells.update(zip(chosen, spelled, strict=True))
    return cells


def _rotated(numbers: list[int], start: int) -> Iterator[int]:
    return chain(numbers[start:], numbers[:start])


def _spelled(cell: Any, table: SampleTable, column: Column, value: Any) -> Any:
    """Return a cell like this one that holds the value; None if its spelling is not known."""
    old = table.cell_value(cell)
    new = spelled_date(old, value) if isinstance(value, dt.date) else spelled_number(old, value, column)
    return None if new is None else table.replace_cell(cell, new)


def _keeps_relations(sample: Sample, column: Column, row: int, value: float | None) -> bool:
    """Whether a value at this row is on the same side of all columns that the whole sample has on one side."""
    if value is None:
        return False
    for other in sample.columns.values():
        is_alike = (other.is_number and column.is_number and not other.is_key) or (other.is_time and column.is_time)
        if other.name == column.name or not is_alike:
            continue
        beside = other.numbers[row]
        if beside is None:
            continue
        pairs = [(a, b) for a, b in zip(column.numbers, other.numbers, strict=True) if a is not None and b is not None]
        if (value > beside and all(a <= b for a, b in pairs)) or (value < beside and all(a >= b for a, b in pairs)):
            return False
    return True
