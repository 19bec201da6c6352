"""Derives files from the samples of a job: the same data in another order, less of it, or with values at a border.

A case changes one sample. It keeps what makes the data valid: the types of cells, keys that are unique, references
between samples, and orders between two columns that hold in every row of the sample.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from flyteplugins_codegen.data.derived.cells import Column, spelled_date, spelled_number
from flyteplugins_codegen.data.derived.tables import Row, SampleTable, read_table
from flyteplugins_codegen.data.derived.wording import (
    Border,
    find_borders,
    find_column,
    speaks_of_column_positions,
    speaks_of_duplicates,
    speaks_of_missing_values,
    speaks_of_row_order,
    speaks_of_ties,
)
from flyteplugins_codegen.errors import SampleError
from flyteplugins_codegen.models.data import ForeignKey, SampleProfile

Derivation: TypeAlias = Literal[
    "shuffled", "halved", "doubled", "one_row", "columns_reordered", "null", "ties", "border"
]

_MOST_CASES = 12
_MOST_OF_A_KIND = 3
_FEWEST_ROWS = 4
_CHANGED_ROWS = 3
"""How many rows get a null, or each value of a border; no more than a fifth of the rows are changed."""
_FEW_VALUES = 12
"""A column of whole numbers with no more different values may hold codes, of which no new one is made up."""
_SEED = 17
_MEASURED = frozenset({"double", "float", "halffloat"})
# The most telling first: files on which right programs agree, those that most often tell wrong ones from them ahead.
_RANKS: tuple[tuple[bool, Derivation], ...] = (
    (True, "border"),
    (True, "shuffled"),
    (True, "null"),
    (True, "ties"),
    (True, "halved"),
    (True, "doubled"),
    (True, "columns_reordered"),
    (False, "border"),
    (False, "null"),
    (False, "ties"),
    (False, "halved"),
    (False, "one_row"),
)


@dataclass(frozen=True, slots=True)
class DerivedCase:
    """One derived file in place of a sample.

    `samples` are the paths of all samples, with the changed one replaced. `is_settled`: the description and the data
    leave no two right answers, so that a difference of two programs on this case is a fault of one of them.
    """

    label: str
    kind: Derivation
    samples: Mapping[str, Path]
    is_settled: bool


def derive_cases(
    samples: Mapping[str, Path], description: str, folder: Path, *, most_rows: int = 400
) -> tuple[DerivedCase, ...]:
    """Write files derived from the samples to new folders in `folder`, and return the cases, the most telling first.

    At most twelve; the same ones for the same arguments. None for samples that are not tables, or whose rows cannot be
    taken apart for certain. A derived file has at most `most_rows` rows, taken evenly from its sample: of data whose
    order the description speaks of, the first ones.
    """
    known = _read_samples(samples, description, most_rows)
    drafts = sorted(chain.from_iterable(_drafts_of(sample, description) for sample in known), key=_rank)
    cases = []
    for number, draft in enumerate(drafts[:_MOST_CASES], 1):
        # The folder tells the cases apart; a program may look at the file's own name.
        path = folder / f"{number:02d}-{draft.kind}" / samples[draft.sample.name].name
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.sample.table.write(path, draft.rows, draft.columns)
        changed = MappingProxyType({**samples, draft.sample.name: path})
        cases.append(DerivedCase(f"{draft.sample.name} {draft.what}", draft.kind, changed, draft.is_settled))
    return tuple(cases)


# --- the samples ---


@dataclass(frozen=True)
class _Sample:
    """One sample that is a table. `rows` are those that derived files are made of.

    `is_target`: it is the largest sample that others do not refer to, which may lose rows. `is_joined`: it shares a
    column with another sample in a way that is no reference, so that it may not.
    """

    name: str
    table: SampleTable
    rows: Sequence[Row]
    columns: Mapping[str, Column]
    is_target: bool
    is_joined: bool
    has_keys: bool
    has_all_rows: bool


def _read_samples(samples: Mapping[str, Path], description: str, most_rows: int) -> list[_Sample]:
    tables = {name: table for name, path in sorted(samples.items()) if (table := read_table(path)) is not None}
    profiles, keys = _profile_samples({name: samples[name] for name in tables})
    tables = {name: table for name, table in tables.items() if name in profiles}
    referenced = {key.key_sample for key in keys}
    if len(tables) < len(samples):
        # What is no table may refer to any key.
        referenced |= {name for name in tables if profiles[name].candidate_keys}
    targets = [name for name in tables if name not in referenced]
    target = max(targets, key=lambda name: (len(tables[name].rows), name), default=None)
    takes_first = speaks_of_row_order(description)
    found = []
    for name, table in tables.items():
        protected = {key.column for key in keys if key.sample == name} | {
            key.key_column for key in keys if key.key_sample == name
        }
        rows = _take_rows(table, most_rows, takes_first=takes_first)
        found.append(
            _Sample(
                name=name,
                table=table,
                rows=rows,
                columns=_describe_columns(table, rows, profiles[name], protected),
                is_target=name == target,
                is_joined=_shares_columns(name, tables, keys),
                has_keys=_has_keys(profiles[name]),
                has_all_rows=len(rows) == len(table.rows),
            )
        )
    return found


def _profile_samples(paths: Mapping[str, Path]) -> tuple[dict[str, SampleProfile], tuple[ForeignKey, ...]]:
    """Return the profiles of the samples that can be read, and the references between them."""
    from flyteplugins_codegen.data.foreign_keys import find_foreign_keys
    from flyteplugins_codegen.data.profile import profile_with_rows

    profiled = []
    for name, path in paths.items():
        with suppress(SampleError):
            profiled.append(profile_with_rows(path, name, 0))
    return {sample.profile.name: sample.profile for sample in profiled}, find_foreign_keys(profiled)


def _take_rows(table: SampleTable, most: int, *, takes_first: bool) -> list[Row]:
    count = len(table.rows)
    if takes_first or count <= most:
        return list(table.rows[:most])
    return [table.rows[number * count // most] for number in range(most)]


def _describe_columns(
    table: SampleTable, rows: Sequence[Row], profile: SampleProfile, protected: set[str]
) -> dict[str, Column]:
    mirrored = {name for pair in profile.mirrors for name in pair}
    columns = {}
    for position, name in enumerate(table.columns):
        known = profile.columns.get(name)
        if known is not None:
            values = [table.cell_value(row[position]) for row in rows]
            fixed = name in protected or name in mirrored
            columns[name] = Column.describe(name, position, values, known, is_fixed=fixed)
    return columns


def _shares_columns(name: str, tables: Mapping[str, SampleTable], keys: Sequence[ForeignKey]) -> bool:
    """Whether the sample has a column of another sample without being the one that refers to it."""
    refers = {(key.column, key.key_sample) for key in keys if key.sample == name}
    return any(
        column in table.columns and (column, other) not in refers
        for other, table in tables.items()
        if other != name and other not in {key.key_sample for key in keys if key.sample == name}
        for column in tables[name].columns
    )


def _has_keys(profile: SampleProfile) -> bool:
    """Whether rows are identified by columns that are no measurements."""
    measured = {name for name, column in profile.columns.items() if column.arrow_type in _MEASURED}
    return any(not measured.intersection(key) for key in profile.candidate_keys)


# --- the cases ---


@dataclass(frozen=True)
class _Draft:
    """A case that is not written yet. `what` follows the sample's name in its label."""

    sample: _Sample
    kind: Derivation
    what: str
    rows: Sequence[Row]
    is_settled: bool = True
    columns: Sequence[str] | None = None
    order: int = 0


def _rank(draft: _Draft) -> tuple[int, int, bool]:
    return _RANKS.index((draft.is_settled, draft.kind)), draft.order, not draft.sample.is_target


def _drafts_of(sample: _Sample, description: str) -> Iterator[_Draft]:
    makers = [_shuffled] if not sample.is_target else _MAKERS
    if len(sample.rows) >= _FEWEST_ROWS and (sample.is_target or sample.has_all_rows):
        for make in makers:
            yield from islice(make(sample, description), _MOST_OF_A_KIND)


def _shuffled(sample: _Sample, description: str) -> Iterator[_Draft]:
    if not speaks_of_row_order(description):
        rows = list(sample.rows)
        random.Random(_SEED).shuffle(rows)  # noqa: S311 - the same order at every run, no secret
        yield _Draft(sample, "shuffled", "with its rows shuffled", rows)


def _halved(sample: _Sample, _: str) -> Iterator[_Draft]:
    if not sample.is_joined:
        yield _Draft(sample, "halved", "cut to its first half", sample.rows[: len(sample.rows) // 2])


def _one_row(sample: _Sample, _: str) -> Iterator[_Draft]:
    if not sample.is_joined:
        yield _Draft(sample, "one_row", "cut to its first row", sample.rows[:1], is_settled=False)


def _doubled(sample: _Sample, description: str) -> Iterator[_Draft]:
    is_open = speaks_of_duplicates(description) or speaks_of_row_order(description)
    if not (is_open or sample.has_keys or sample.is_joined):
        rows = [row for row in sample.rows[::2] for _ in range(2)]
        yield _Draft(sample, "doubled", "with every other row, each twice", rows)


def _columns_reordered(sample: _Sample, description: str) -> Iterator[_Draft]:
    columns = sample.table.columns
    # The first column may be read as the index where it has no name.
    if len(columns) > 1 and columns[0].strip() and not speaks_of_column_positions(description):
        reverse = tuple(reversed(columns))
        yield _Draft(sample, "columns_reordered", "with its columns in reverse order", sample.rows, columns=reverse)


def _null(sample: _Sample, description: str) -> Iterator[_Draft]:
    is_settled = speaks_of_missing_values(description)
    for column in _named_columns(sample, description):
        nulls = [row[column.position] for row, value in zip(sample.rows, column.values, strict=True) if value is None]
        if nulls and not column.is_fixed:
            filled = [number for number, value in enumerate(column.values) if value is not None]
            cells = dict.fromkeys(_spread(filled, _most_changed(sample)), nulls[0])
            rows = _with_cells(sample, column, cells)
            yield _Draft(sample, "null", f"with more missing values in {column.name}", rows, is_settled=is_settled)


def _ties(sample: _Sample, description: str) -> Iterator[_Draft]:
    is_settled = speaks_of_ties(description)
    for column in _named_columns(sample, description):
        if not (column.is_number and column.is_free):
            continue
        order = sorted((number for number, value in enumerate(column.numbers) if value is not None), key=_by(column))
        # The largest values are those that a ranking shows, so these are made equal first.
        pairs = [(order[at], order[at + 1]) for at in range(0, len(order) - 1, 2)][: _most_changed(sample)]
        cells = {
            lower: sample.rows[higher][column.position]
            for higher, lower in pairs
            if column.numbers[higher] != column.numbers[lower]
            and _keeps_relations(sample, column, lower, column.numbers[higher])
        }
        if cells:
            rows = _with_cells(sample, column, cells)
            yield _Draft(sample, "ties", f"with equal values in {column.name}", rows, is_settled=is_settled)


def _by(column: Column) -> Callable[[int], tuple[float, int]]:
    return lambda number: (-(column.numbers[number] or 0), number)


def _border(sample: _Sample, description: str) -> Iterator[_Draft]:
    for order, border in enumerate(find_borders(description, sample.table.columns)):
        column = sample.columns.get(border.column)
        if column is None or column.is_fixed or (column.is_key and not column.is_time):
            continue
        values = _border_values(column, border)
        cells = _place_values(sample, column, values)
        if cells:
            rows = _with_cells(sample, column, cells)
            what = f"with {column.name} just below, at and just above {border.value}"
            is_settled = border.is_clear and not column.has_clock
            yield _Draft(sample, "border", what, rows, is_settled=is_settled, order=order)


_MAKERS = (_shuffled, _halved, _one_row, _doubled, _columns_reordered, _null, _ties, _border)


# --- values ---


def _named_columns(sample: _Sample, description: str) -> list[Column]:
    """Return the columns that the description names, in the order in which it does, then the others."""
    places = {name: find_column(name, description) for name in sample.columns}
    named = sorted((place, name) for name, place in places.items() if place is not None)
    return [sample.columns[name] for _, name in named]


def _most_changed(sample: _Sample) -> int:
    return max(1, min(_CHANGED_ROWS, len(sample.rows) // 5))


def _spread(numbers: Sequence[int], count: int) -> list[int]:
    """Return `count` of the numbers, evenly spread."""
    return [numbers[(2 * part + 1) * len(numbers) // (2 * count)] for part in range(count)] if numbers else []


def _with_cells(sample: _Sample, column: Column, cells: Mapping[int, Any]) -> list[Row]:
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


def _place_values(sample: _Sample, column: Column, values: Sequence[Any]) -> dict[int, Any]:
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


def _keeps_relations(sample: _Sample, column: Column, row: int, value: float | None) -> bool:
    """Whether a value at this row is on the same side of all columns that the whole sample has on one side."""
    if value is None:
        return False
    for other in sample.columns.values():
        if other.name == column.name or other.is_time != column.is_time or not (other.is_number or other.is_time):
            continue
        beside = other.numbers[row]
        if beside is None:
            continue
        pairs = [(a, b) for a, b in zip(column.numbers, other.numbers, strict=True) if a is not None and b is not None]
        if (value > beside and all(a <= b for a, b in pairs)) or (value < beside and all(a >= b for a, b in pairs)):
            return False
    return True
