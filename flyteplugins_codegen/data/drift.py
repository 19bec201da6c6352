"""Compares two profiles of the same sample: columns, types, nulls, ranges, categories, distributions.

The population stability index sums `(new - old) * ln(new / old)` over the shares of bins or categories (Siddiqi, Credit
Risk Scorecards, 2006, after Kullback and Leibler): below 0.1 is a small change, above 0.25 a large one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from pydantic import JsonValue

from flyteplugins_codegen.models.data import ColumnProfile, Drift, DriftReport, SampleProfile

_MINOR_PSI = 0.1
_MAJOR_PSI = 0.25
_LEAST_SHARE = 1e-4
_MUCH_NULL = 0.05
_NULLS_NOT_BY_CHANCE = 2.0
_MANY_ROWS = 2.0
_MOST_LISTED_VALUES = 8
_QUARTER = 0.25
_WIDER = {
    ("int8", "int16"),
    ("int16", "int32"),
    ("int32", "int64"),
    ("int8", "int32"),
    ("int8", "int64"),
    ("int16", "int64"),
    ("float", "double"),
    ("string", "large_string"),
    ("large_string", "string"),
}


def compare_profiles(old: SampleProfile, new: SampleProfile) -> DriftReport:
    """Return the differences between two profiles, the major ones first. The data themselves are not read."""
    drifts = [*_table_drifts(old, new)]
    for name, column in old.columns.items():
        if name in new.columns:
            drifts += _column_drifts(column, new.columns[name], (old.row_count or 0, new.row_count or 0))
    return DriftReport(sample=new.name, drifts=tuple(sorted(drifts, key=lambda drift: drift.severity)))


def _table_drifts(old: SampleProfile, new: SampleProfile) -> Iterator[Drift]:
    if old.format != new.format:
        yield Drift(kind="format", severity="major", old=old.format, new=new.format)
    for name in old.columns:
        if name not in new.columns:
            yield Drift(kind="column removed", column=name, severity="major", old=old.columns[name].arrow_type)
    for name in new.columns:
        if name not in old.columns:
            yield Drift(kind="column added", column=name, severity="minor", new=new.columns[name].arrow_type)
    before, after = ([name for name in one.columns if name in two.columns] for one, two in ((old, new), (new, old)))
    if before != after:
        yield Drift(kind="order of columns", severity="minor", old=", ".join(before), new=", ".join(after))
    rows = (old.row_count, new.row_count)
    if None not in rows and not 1 / _MANY_ROWS <= ((rows[1] or 0) + 1) / ((rows[0] or 0) + 1) <= _MANY_ROWS:
        yield Drift(kind="row count", severity="minor", old=f"{rows[0]:,}", new=f"{rows[1]:,}")


def _column_drifts(old: ColumnProfile, new: ColumnProfile, rows: tuple[int, int]) -> Iterator[Drift]:
    if old.arrow_type != new.arrow_type:
        is_wider = (old.arrow_type, new.arrow_type) in _WIDER or _all_null(old, rows[0]) or _all_null(new, rows[1])
        severity = "minor" if is_wider else "major"
        yield Drift(kind="type", column=old.name, severity=severity, old=old.arrow_type, new=new.arrow_type)
    yield from _null_drifts(old, new, rows)
    yield from _range_drifts(old, new)
    yield from _value_drifts(old, new, rows)


def _all_null(column: ColumnProfile, row_count: int) -> bool:
    return column.null_count >= row_count


def _null_drifts(old: ColumnProfile, new: ColumnProfile, rows: tuple[int, int]) -> Iterator[Drift]:
    """Yield a drift for the first nulls, and for a share of nulls that changed by much and not by chance."""
    if not all(rows):
        return
    before, after = old.null_count / rows[0], new.null_count / rows[1]
    pooled = (old.null_count + new.null_count) / sum(rows)
    chance = math.sqrt(pooled * (1 - pooled) * (1 / rows[0] + 1 / rows[1]))
    is_new = not old.null_count and bool(new.null_count)
    if is_new or abs(after - before) > max(_MUCH_NULL, _NULLS_NOT_BY_CHANCE * chance):
        severity = "major" if after > before else "minor"
        yield Drift(kind="nulls", column=old.name, severity=severity, old=f"{before:.1%}", new=f"{after:.1%}")


def _range_drifts(old: ColumnProfile, new: ColumnProfile) -> Iterator[Drift]:
    """Yield a drift for values beyond the old extremes; major if they are further out than the old range is wide."""
    ends = (old.minimum, old.maximum, new.minimum, new.maximum)
    if not all(isinstance(end, int | float) for end in ends) and not _are_times(old, new):
        return
    low, high, new_low, new_high = ends
    is_beyond = _is_less(new_low, low) or _is_less(high, new_high)
    if is_beyond:
        severity = "major" if _is_far(ends) else "minor"
        yield Drift(
            kind="range", column=old.name, severity=severity, old=f"{low} to {high}", new=f"{new_low} to {new_high}"
        )


def _are_times(old: ColumnProfile, new: ColumnProfile) -> bool:
    kinds = ("timestamp", "date")
    return (
        old.arrow_type.startswith(kinds) and new.arrow_type.startswith(kinds) and None not in (old.minimum, new.minimum)
    )


def _is_less(one: JsonValue, other: JsonValue) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return str(one) < str(other)
    return isinstance(one, int | float) and isinstance(other, int | float) and one < other


def _is_far(ends: Sequence[JsonValue]) -> bool:
    numbers = [float(end) for end in ends if isinstance(end, int | float)]
    if len(numbers) < len(ends):
        return False  # times always increase
    low, high, new_low, new_high = numbers
    return max(low - new_low, new_high - high) > max(high - low, abs(high), abs(low)) or (new_low < 0 <= low)


def _value_drifts(old: ColumnProfile, new: ColumnProfile, rows: tuple[int, int]) -> Iterator[Drift]:
    is_listed = _lists_all(old) and bool(new.top_values)
    if is_listed:
        yield from _category_drifts(old, new)
    psi = _psi(_shares(old), _shares(new)) if is_listed else _psi_of_quartiles(old, new)
    if psi is not None and min(rows) and psi >= _MINOR_PSI:
        severity = "major" if psi >= _MAJOR_PSI else "minor"
        yield Drift(kind="distribution", column=old.name, severity=severity, psi=round(psi, 4))


def _lists_all(column: ColumnProfile) -> bool:
    """Return whether its top values are all its values."""
    return bool(column.top_values) and column.distinct_count == len(column.top_values)


def _category_drifts(old: ColumnProfile, new: ColumnProfile) -> Iterator[Drift]:
    before, after = ({str(value) for value, _ in column.top_values} for column in (old, new))
    added, gone = sorted(after - before), sorted(before - after) if _lists_all(new) else []
    is_number = isinstance(old.minimum, int | float) and not isinstance(old.minimum, bool)
    if added or gone:
        severity = "major" if added and not is_number else "minor"
        yield Drift(
            kind="categories",
            column=old.name,
            severity=severity,
            old=f"without {_join_values(gone)}" if gone else "",
            new=f"with {_join_values(added)}" if added else "",
        )


def _join_values(values: Sequence[str]) -> str:
    more = f" and {len(values) - _MOST_LISTED_VALUES} more" if len(values) > _MOST_LISTED_VALUES else ""
    return ", ".join(map(repr, values[:_MOST_LISTED_VALUES])) + more


def _shares(column: ColumnProfile) -> dict[str, float]:
    total = sum(count for _, count in column.top_values)
    return {str(value): count / total for value, count in column.top_values}


def _psi(old: Mapping[str, float], new: Mapping[str, float]) -> float:
    pairs = ((max(old.get(name, 0), _LEAST_SHARE), max(new.get(name, 0), _LEAST_SHARE)) for name in {*old, *new})
    return sum((after - before) * math.log(after / before) for before, after in pairs)


def _psi_of_quartiles(old: ColumnProfile, new: ColumnProfile) -> float | None:
    """Return the index over the four parts between the old quartiles; the new shares are interpolated."""
    edges, points = _numbers(old), _numbers(new)
    if edges is None or points is None or len(set(edges)) < len(edges):
        return None
    below = [0.0, *(_share_below(edge, points) for edge in edges[1:-1]), 1.0]
    shares = {str(part): high - low for part, (low, high) in enumerate(pairwise(below))}
    return _psi(dict.fromkeys(shares, _QUARTER), shares)


def _numbers(column: ColumnProfile) -> list[float] | None:
    """Return minimum, quartiles and maximum; None if they are not all finite numbers."""
    values = [column.minimum, *(column.quartiles or ()), column.maximum]
    numbers = [float(value) for value in values if isinstance(value, int | float) and math.isfinite(value)]
    return numbers if len(numbers) == len(values) and column.quartiles else None


def _share_below(edge: float, points: Sequence[float]) -> float:
    """Return the share of values below an edge, if the values are evenly spread between the points."""
    if edge <= points[0]:
        return 0.0
    for number, (low, high) in enumerate(pairwise(points)):
        if edge < high:
            return (number + (edge - low) / (high - low)) * _QUARTER
    return 1.0
