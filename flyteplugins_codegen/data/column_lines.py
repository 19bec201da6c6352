"""The columns of a sample as lines of a table, the useful ones first to come and last to go."""

from __future__ import annotations

import json
from itertools import groupby

from pydantic import JsonValue

from flyteplugins_codegen.data.texts import cell, token_cost
from flyteplugins_codegen.models.profile import ColumnProfile, SampleProfile

NAME_CHARACTERS = 80
VALUE_CHARACTERS = 40
_TOP_VALUES = 8
_MOST_SHAPES = 2
_MOSTLY = 0.9
_TYPE_NAMES = {
    "date32[day]": "date",
    "double": "float",
    "float": "float32",
    "int64": "int",
    "string": "text",
    "large_string": "text",
    "null": "empty",
}
_HEADER = ("|column|type|nulls|distinct|range|mean; quartiles|values|", "|-|-|-|-|-|-|-|")
_LEGEND = "(`~`: an estimate)"


def columns_table(profile: SampleProfile, budget: int) -> tuple[list[ColumnProfile], list[str]]:
    """The columns that fit, in their order, and the lines that show them."""
    columns = list(profile.columns.values())
    lines = {column.name: _line(column, profile.row_count or 0) for column in columns}
    kept, used = set[str](), 0
    for column in sorted(columns, key=lambda column: -_usefulness(column, profile)):
        used += token_cost(lines[column.name]) + 1
        if used > budget and kept:
            break
        kept.add(column.name)
    shown = [column for column in columns if column.name in kept]
    left_out = [column for column in columns if column.name not in kept]
    legend = [_LEGEND] if any(column.approximate for column in shown) else []
    return shown, [*_HEADER, *(lines[column.name] for column in shown), *_left_out(left_out), *legend]


def shown_value(value: JsonValue) -> str:
    """A value as a person reads it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _usefulness(column: ColumnProfile, profile: SampleProfile) -> int:
    """4 for a key, 3 for a column that varies, less for one that is mostly null, mirrors another, or says nothing."""
    if column.arrow_type == "null" or column.distinct_count == 0:
        return 0
    if column.is_constant or column.distinct_count == 1:
        return 1
    if any(mirror == column.name for _, mirror in profile.mirrors):
        return 2
    if column.null_count > _MOSTLY * (profile.row_count or 0):
        return 2
    return 4 if any(column.name in key for key in profile.candidate_keys) else 3


def _left_out(columns: list[ColumnProfile]) -> list[str]:
    """One line on all columns that did not fit: runs of one type by the first and the last name."""
    if not columns:
        return []
    runs = []
    for kind, group in groupby(columns, key=_type_name):
        names = [cell(column.name, VALUE_CHARACTERS) for column in group]
        runs.append(f"{len(names)} {kind}: {names[0]}" + (f" … {names[-1]}" if len(names) > 1 else ""))
    more = [] if len(runs) <= _TOP_VALUES else [f"{len(runs) - _TOP_VALUES} more runs"]
    return [f"and {len(columns)} more columns ({'; '.join([*runs[:_TOP_VALUES], *more])})"]


def _line(column: ColumnProfile, row_count: int) -> str:
    # The rows of a very small table all follow: nothing of theirs is listed twice.
    values = _values(column) if row_count > _TOP_VALUES else ""
    is_all_listed = bool(values) and column.distinct_count == len(column.top_values[:_TOP_VALUES])
    cells = [
        cell(column.name, NAME_CHARACTERS),
        _type_name(column) + (" index" if column.is_index else ""),
        str(column.null_count),
        _distinct(column),
        "" if is_all_listed else _range(column),
        _average(column) if row_count > _TOP_VALUES and not is_all_listed else "",
        values,
    ]
    return f"|{'|'.join(cells)}|"


def _type_name(column: ColumnProfile) -> str:
    if column.arrow_type.startswith("dictionary<"):
        return "category"
    return _TYPE_NAMES.get(column.arrow_type) or cell(column.arrow_type, NAME_CHARACTERS)


def _distinct(column: ColumnProfile) -> str:
    if column.distinct_count is None:
        return "?"
    return "unique" if column.is_unique else _mark(column, "distinct_count") + str(column.distinct_count)


def _range(column: ColumnProfile) -> str:
    if column.minimum is None:
        return ""
    least, greatest = (cell(shown_value(value), VALUE_CHARACTERS) for value in (column.minimum, column.maximum))
    return least if least == greatest else f"{least} to {greatest}"


def _average(column: ColumnProfile) -> str:
    """The mean, and the quartiles of numbers."""
    if column.mean is None or column.quartiles is None or column.minimum == column.maximum:
        return ""
    quartiles = [f"{value:.3g}" for value in column.quartiles if isinstance(value, int | float)]
    return f"{column.mean:.6g}; {_mark(column, 'quartiles')}{', '.join(quartiles)}"


def _values(column: ColumnProfile) -> str:
    """The commonest values; of texts that hardly repeat, how they look."""
    shown = [f"{cell(shown_value(value), VALUE_CHARACTERS)}: {count}" for value, count in column.top_values]
    told = _dates(column)
    if not shown:
        return "; ".join([*told, *_shapes(column)])
    rest = (column.distinct_count or 0) - len(shown[:_TOP_VALUES])
    more = [f"{rest} more"] if rest > 0 else []
    return "; ".join([*told, _mark(column, "top_values") + ", ".join([*shown[:_TOP_VALUES], *more])])


def _dates(column: ColumnProfile) -> list[str]:
    if column.text is None or not column.text.formats:
        return []
    ends = column.text.date_range
    shown = f", {_mark(column, 'text')}{ends[0]} to {ends[1]}" if ends else ""
    return [f"dates {' or '.join(form for form, _ in column.text.formats)}{shown}"]


def _shapes(column: ColumnProfile) -> list[str]:
    if column.text is None or not column.text.shapes:
        return []
    shapes = [cell(shape, VALUE_CHARACTERS) for shape, _ in column.text.shapes[:_MOST_SHAPES]]
    return [f"like {' or '.join(shapes)}"]


def _mark(column: ColumnProfile, statistic: str) -> str:
    return "~" if statistic in column.approximate else ""
