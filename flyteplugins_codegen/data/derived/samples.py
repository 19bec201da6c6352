"""The samples that files are derived from: which rows they are made of, and what must stay as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal, TypeAlias

from flyteplugins_codegen.data.derived.cells import Column
from flyteplugins_codegen.data.derived.tables import Row, SampleTable, read_table
from flyteplugins_codegen.errors import SampleError
from flyteplugins_codegen.models.data import ForeignKey, SampleProfile

Derivation: TypeAlias = Literal[
    "shuffled", "halved", "thinned", "doubled", "one_row", "columns_reordered", "null", "unmatched", "ties", "border"
]

_MOST_PAIRED_COLUMNS = 8
_FEWEST_REPEATS = 2
_MEASURED = frozenset({"double", "float", "halffloat"})


@dataclass(frozen=True)
class Sample:
    """One sample that is a table. `rows` are those that derived files are made of.

    `is_target`: it is the largest sample that others do not refer to, which may lose rows. `is_joined`: it shares a
    column with another sample in a way that is no reference, so that it may not. `keys` are the columns, or pairs of
    columns, that identify its rows, measurements aside.
    """

    name: str
    table: SampleTable
    rows: Sequence[Row]
    columns: Mapping[str, Column]
    is_target: bool
    is_joined: bool
    keys: tuple[tuple[str, ...], ...]
    has_all_rows: bool


def read_samples(samples: Mapping[str, Path], most_rows: int, *, takes_first: bool) -> list[Sample]:
    """Return the samples that are tables, each with at most so many of its rows: the first ones, or spread evenly."""
    tables = {name: table for name, path in sorted(samples.items()) if (table := read_table(path)) is not None}
    profiles, keys = _profile_samples({name: samples[name] for name in tables})
    tables = {name: table for name, table in tables.items() if name in profiles}
    referenced = {key.key_sample for key in keys}
    if len(tables) < len(samples):
        # What is no table may refer to any key.
        referenced |= {name for name in tables if profiles[name].candidate_keys}
    targets = [name for name in tables if name not in referenced]
    target = max(targets, key=lambda name: (len(tables[name].rows), name), default=None)
    found = []
    for name, table in tables.items():
        protected = {key.column for key in keys if key.sample == name} | {
            key.key_column for key in keys if key.key_sample == name
        }
        rows = _take_rows(table, most_rows, takes_first=takes_first)
        columns = _describe_columns(table, rows, profiles[name], protected)
        found.append(
            Sample(
                name=name,
                table=table,
                rows=rows,
                columns=columns,
                is_target=name == target,
                is_joined=_shares_columns(name, tables, keys),
                keys=(*_keys(profiles[name], table), *_pairs(columns, len(rows))),
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
        known = profile.columns.get(name or _unnamed(position))
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


def _unnamed(position: int) -> str:
    """Return what profiles call a column without a name."""
    return f"Unnamed: {position}"


def _keys(profile: SampleProfile, table: SampleTable) -> tuple[tuple[str, ...], ...]:
    own = {name or _unnamed(position): name for position, name in enumerate(table.columns)}
    measured = {name for name, column in profile.columns.items() if column.arrow_type in _MEASURED}
    keys = (key for key in profile.candidate_keys if own.keys() >= set(key) and not measured.intersection(key))
    return tuple(tuple(own[name] for name in key) for key in keys)


def _pairs(columns: Mapping[str, Column], row_count: int) -> tuple[tuple[str, ...], ...]:
    """Return the pairs of columns that identify the rows though the values of each repeat, as country and year do."""
    repeated = [
        column
        for column in columns.values()
        if column.decimals == 0 and len(set(map(str, column.values))) * _FEWEST_REPEATS <= row_count
    ]
    pairs = combinations(repeated[:_MOST_PAIRED_COLUMNS], 2)
    return tuple(
        (one.name, other.name)
        for one, other in pairs
        if not (one.is_number and other.is_number)
        and len(set(zip(map(str, one.values), map(str, other.values), strict=True))) == row_count
    )


# --- the files ---


@dataclass(frozen=True)
class Draft:
    """A case that is not written yet. `what` follows the sample's name in its label."""

    sample: Sample
    kind: Derivation
    what: str
    rows: Sequence[Row]
    is_settled: bool = True
    columns: Sequence[str] | None = None
    order: int = 0

    @property
    def keeps_keys(self) -> bool:
        """Whether what identifies the rows of the sample identifies these rows too."""
        places = [[self.sample.table.columns.index(name) for name in key] for key in self.sample.keys]
        return all(len({tuple(row[at] for at in key) for row in self.rows}) == len(self.rows) for key in places)
