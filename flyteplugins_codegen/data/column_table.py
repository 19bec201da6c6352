"""The table about a sample's columns in the text for a prompt, and how a value is written there."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import NamedTuple

from pydantic import JsonValue

from flyteplugins_codegen.models.data import ColumnProfile, SampleProfile
from flyteplugins_codegen.text import cell, token_cost

_NAME_CHARACTERS = 80
_VALUE_CHARACTERS = 40
_MOST_TOP_VALUES = 8
_MOST_SHAPES = 2
_MOSTLY = 0.9
_TERSE_SHARE = 0.4
_TYPE_NAMES = {
    "date32[day]": "date",
    "double": "float",
    "float": "float32",
    "int64": "int",
    "string": "text",
    "large_string": "text",
    "null": "empty",
}
_COLUMNS_HEADER = ("|column|type|nulls|distinct|range|mean; quartiles|values|", "|-|-|-|-|-|-|-|")
_COLUMNS_LEGEND = "(`~`: an estimate)"


class ColumnTable(NamedTuple):
    """The columns that are told in full, in the order of the file, and the lines of the table."""

    columns: tuple[ColumnProfile, ...]
    lines: tuple[str, ...]


def column_table(
    profile: SampleProfile, budget: int, first: Collection[str] = (), *, tells_others: bool = True
) -> ColumnTable:
    """The table of the most useful columns that fit; those named in `first` come first.

    Without `tells_others` only these are told in full, and of the others the names and types.
    """
    columns = list(profile.columns.values())
    lines = {column.name: _column_line(column, profile.row_count or 0) for column in columns}
    chosen = columns if tells_others else [column for column in columns if column.name in first]
    room = budget if tells_others else budget - _cost([_other_columns(_without(columns, chosen), budget)])
    kept, used = set[str](), 0
    for column in sorted(chosen, key=lambda column: (column.name not in first, -_usefulness(column, profile))):
        used += token_cost(lines[column.name]) + 1
        if used > room and kept:
            break
        kept.add(column.name)
    listed = [column for column in columns if column.name in kept]
    others = _without(columns, listed)
    ordered = sorted(listed, key=lambda column: column.name not in first)
    legend = [_COLUMNS_LEGEND] if any(column.approximate for column in listed) else []
    about_others = [_left_out_line(others) if tells_others else _other_columns(others, budget)] if others else []
    text = [*_COLUMNS_HEADER, *(lines[column.name] for column in ordered), *about_others, *legend]
    return ColumnTable(tuple(listed), tuple(text))


def _without(columns: Sequence[ColumnProfile], chosen: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    names = {column.name for column in chosen}
    return [column for column in columns if column.name not in names]


def _cost(lines: Sequence[str]) -> int:
    return sum(token_cost(line) + 1 for line in lines)


def _other_columns(columns: Sequence[ColumnProfile], budget: int) -> str:
    """The names and types of columns; if that is too long, those of `_left_out_line`."""
    runs = [
        (kind, [cell(column.name, _VALUE_CHARACTERS) for column in group])
        for kind, group in groupby(columns, key=_type_name)
    ]
    line = "Other columns: " + "; ".join(f"{', '.join(names)} ({kind})" for kind, names in runs)
    return line if token_cost(line) <= budget * _TERSE_SHARE else _left_out_line(columns)


def _usefulness(column: ColumnProfile, profile: SampleProfile) -> int:
    """Rate a column: 4 for a key, 3 for one that varies, 2 for mostly null or a mirror, 1 for constant, 0 for empty."""
    if column.arrow_type == "null" or column.distinct_count == 0:
        return 0
    if column.is_constant or column.distinct_count == 1:
        return 1
    if any(mirror == column.name for _, mirror in profile.mirrors):
        return 2
    if column.null_count > _MOSTLY * (profile.row_count or 0):
        return 2
    return 4 if any(column.name in key for key in profile.candidate_keys) else 3


def _left_out_line(columns: Sequence[ColumnProfile]) -> str:
    """Return one line about the columns that do not fit: the first and last name of each run of one type."""
    runs = []
    for kind, group in groupby(columns, key=_type_name):
        names = [cell(column.name, _VALUE_CHARACTERS) for column in group]
        runs.append(f"{len(names)} {kind}: {names[0]}" + (f" … {names[-1]}" if len(names) > 1 else ""))
    more = [] if len(runs) <= _MOST_TOP_VALUES else [f"{len(runs) - _MOST_TOP_VALUES} more runs"]
    return f"and {len(columns)} more columns ({'; '.join([*runs[:_MOST_TOP_VALUES], *more])})"


def _column_line(column: ColumnProfile, row_count: int) -> str:
    # All rows of a very small table follow, so its values are not listed here.
    values = _values_cell(column) if row_count > _MOST_TOP_VALUES else ""
    is_all_listed = bool(values) and column.distinct_count == len(column.top_values[:_MOST_TOP_VALUES])
    cells = [
        cell(column.name, _NAME_CHARACTERS),
        _type_name(column) + (" index" if column.is_index else ""),
        str(column.null_count),
        _distinct_cell(column),
        "" if is_all_listed else _range_cell(column),
        _average_cell(column) if row_count > _MOST_TOP_VALUES and not is_all_listed else "",
        values,
    ]
    return f"|{'|'.join(cells)}|"


def _type_name(column: ColumnProfile) -> str:
    if column.arrow_type.startswith("dictionary<"):
        return "category"
    return _TYPE_NAMES.get(column.arrow_type) or cell(column.arrow_type, _NAME_CHARACTERS)


def _distinct_cell(column: ColumnProfile) -> str:
    if column.distinct_count is None:
        return "?"
    return "unique" if column.is_unique else _mark(column, "distinct_count") + str(column.distinct_count)


def _range_cell(column: ColumnProfile) -> str:
    if column.minimum is None:
        return ""
    least, greatest = (cell(value_text(value), _VALUE_CHARACTERS) for value in (column.minimum, column.maximum))
    return least if least == greatest else f"{least} to {greatest}"


def _average_cell(column: ColumnProfile) -> str:
    """Return the mean and the quartiles of numbers."""
    if column.mean is None or column.quartiles is None or column.minimum == column.maximum:
        return ""
    quartiles = [f"{value:.3g}" for value in column.quartiles if isinstance(value, int | float)]
    return f"{column.mean:.6g}; {_mark(column, 'quartiles')}{', '.join(quartiles)}"


def _values_cell(column: ColumnProfile) -> str:
    """Return the commonest values, or the shapes of texts that rarely repeat; date formats come first."""
    values = [f"{cell(value_text(value), _VALUE_CHARACTERS)}: {count}" for value, count in column.top_values]
    dates = _date_formats(column)
    if not values:
        return "; ".join([*dates, *_shapes(column)])
    rest = (column.distinct_count or 0) - len(values[:_MOST_TOP_VALUES])
    more = [f"{rest} more"] if rest > 0 else []
    return "; ".join([*dates, _mark(column, "top_values") + ", ".join([*values[:_MOST_TOP_VALUES], *more])])


def _date_formats(column: ColumnProfile) -> list[str]:
    if column.text is None or not column.text.formats:
        return []
    ends = column.text.date_range
    date_range = f", {_mark(column, 'text')}{ends[0]} to {ends[1]}" if ends else ""
    return [f"dates {' or '.join(name for name, _ in column.text.formats)}{date_range}"]


def _shapes(column: ColumnProfile) -> list[str]:
    if column.text is None or not column.text.shapes:
        return []
    shapes = [cell(shape, _VALUE_CHARACTERS) for shape, _ in column.text.shapes[:_MOST_SHAPES]]
    return [f"like {' or '.join(shapes)}"]


def value_text(value: JsonValue) -> str:
    """Return a value as a person reads it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _mark(column: ColumnProfile, statistic: str) -> str:
    return "~" if statistic in column.approximate else ""
