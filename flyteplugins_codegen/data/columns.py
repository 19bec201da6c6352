"""The statistics of one column that is in memory: all of a small sample's, or some rows of a large one's.

By Arrow's own kernels: for as much as fits in memory they are as fast as a database, and need none to be opened.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import JsonValue

from flyteplugins_codegen.data.text_columns import profile_text
from flyteplugins_codegen.data.values import (
    arrow_floats,
    is_comparable,
    is_number,
    is_text,
    json_value,
    json_values,
    stored_type,
)
from flyteplugins_codegen.models.profile import ColumnProfile

MOST_TOP_VALUES = 10
_FEW_VALUES = 20
_MANY_CATEGORIES = 1000
_OUTLIER_DISTANCE = 3.0
_QUARTERS = [0.25, 0.5, 0.75]


@dataclass(frozen=True)
class Counted:
    """The different values of a column, and how often each occurs."""

    values: pa.Array
    counts: pa.Array

    def top(self, limit: int) -> tuple[tuple[JsonValue, int], ...]:
        """The commonest values with their counts; of equally common ones the least first."""
        order = pc.sort_indices(
            pa.RecordBatch.from_arrays([self.counts, self.values], ["count", "value"]),
            sort_keys=[("count", "descending"), ("value", "ascending")],
        ).slice(0, limit)
        return tuple(zip(json_values(self.values.take(order)), self.counts.take(order).to_pylist(), strict=True))


def count_values(valid: pa.Array) -> Counted:
    """The values of a column without nulls, counted."""
    counts = pc.value_counts(valid)
    return Counted(counts.field("values"), counts.field("counts"))


def profile_column(field: pa.Field, column: pa.Array) -> ColumnProfile:
    """The profile of a comparable column; `field` names it, and may say in its metadata what its type is called."""
    valid = column.drop_null() if column.null_count else column
    profile = ColumnProfile(null_count=len(column) - len(valid), **described(field))
    if not is_comparable(column.type):
        return profile.model_copy(update={"distinct_count": None if len(valid) else 0})
    counted = count_values(valid)
    distinct = len(counted.values)
    found: dict[str, Any] = {
        "distinct_count": distinct,
        "is_unique": bool(len(valid)) and distinct == len(column),
        "is_constant": distinct == 1 and not profile.null_count,
        "top_values": counted.top(MOST_TOP_VALUES) if are_categories(field.type, distinct, len(valid)) else (),
    }
    if len(valid):
        found |= _extremes(valid) | _spread(valid)
        found["text"] = profile_text(valid) if is_text(valid.type) else None
    return profile.model_copy(update=found)


def described(field: pa.Field) -> dict[str, Any]:
    """What a column's field alone says of it."""
    metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    return {
        "name": field.name,
        "arrow_type": metadata.get("shown_type", str(field.type)),
        "time_zone": field.type.tz if pa.types.is_timestamp(field.type) else None,
        "pandas_dtype": metadata.get("pandas_dtype"),
        "is_index": "is_index" in metadata,
    }


def are_categories(kind: pa.DataType, distinct: int, valid_count: int) -> bool:
    """Whether values repeat enough to be worth listing."""
    if distinct == valid_count:
        return False
    return distinct <= _FEW_VALUES or (is_category(kind) and distinct <= min(_MANY_CATEGORIES, valid_count // 2))


def is_category(kind: pa.DataType) -> bool:
    """Whether values of the type may name categories."""
    if pa.types.is_dictionary(kind):
        return is_category(kind.value_type)
    return bool(pa.types.is_boolean(kind) or is_text(kind) or kind == pa.string_view())


def _extremes(valid: pa.Array) -> dict[str, Any]:
    both = pc.min_max(valid)
    return {"minimum": json_value(both["min"]), "maximum": json_value(both["max"])}


def _spread(valid: pa.Array) -> dict[str, Any]:
    """Mean, deviation, quartiles and outliers; of dates and times the quartiles alone, which are values that occur."""
    if is_number(valid.type):
        return _spread_of_numbers(valid.cast(pa.float64(), safe=False))
    if not pa.types.is_temporal(valid.type):
        return {}
    stored = valid.cast(stored_type(valid.type))
    quartiles = pc.quantile(stored, _QUARTERS, interpolation="lower").cast(stored.type).cast(valid.type)
    return {"quartiles": tuple(json_values(quartiles))}


def _spread_of_numbers(numbers: pa.Array) -> dict[str, Any]:
    if not pc.all(pc.is_finite(numbers)).as_py():
        return {}
    first, median, third = quartiles = tuple(pc.quantile(numbers, _QUARTERS).to_pylist())
    mean, deviation = pc.mean(numbers).as_py(), pc.stddev(numbers, ddof=1).as_py()
    reach = _OUTLIER_DISTANCE * (third - first)
    return {
        "mean": mean if math.isfinite(mean) else None,
        "deviation": deviation if deviation is not None and math.isfinite(deviation) else None,
        "quartiles": quartiles if math.isfinite(median) else None,
        "outlier_count": _outside(numbers, first - reach, third + reach) if 0 < reach < math.inf else None,
    }


def _outside(numbers: pa.Array, low: float, high: float) -> int:
    least, greatest = arrow_floats(low, high)
    return int(pc.sum(pc.or_(pc.less(numbers, least), pc.greater(numbers, greatest))).as_py())
