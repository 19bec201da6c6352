"""The statistics of one column in memory: all rows of a small sample, or the sampled rows of a large one.

Computed by Arrow's functions, which are as fast as a database here and need no connection.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import JsonValue

from flyteplugins_codegen.data.arrow import (
    arrow_floats,
    is_comparable,
    is_number,
    is_text,
    json_value,
    json_values,
    stored_type,
)
from flyteplugins_codegen.models.data import ColumnProfile, TextProfile

MOST_TOP_VALUES = 10
_FEW_VALUES = 20
_MANY_CATEGORIES = 1000
_OUTLIER_DISTANCE = 3.0
_QUARTERS = [0.25, 0.5, 0.75]
_MOST_SHAPES = 5
_SHAPED_CHARACTERS = 60
# The replacements that turn a text into its shape: first each character, then longer runs.
_SHAPE_REPLACEMENTS = (
    (r"\p{Lu}", "A"),
    (r"[\p{Ll}\p{Lt}\p{Lm}\p{Lo}]", "a"),
    (r"\p{Nd}", "9"),
    (r"A{5,}", "A+"),
    (r"a{5,}", "a+"),
    (r"9{5,}", "9+"),
    (r"\s+", " "),
)
# The first pattern that matches counts; blanks around the text are ignored.
_DAY = r"(?:\d{4}([-/.])\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d\d)|\d{1,2}[ -][A-Za-z]{3}[ -]\d{4})"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:AM|PM|am|pm))?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
_KINDS = (
    ("whole number", r"^[+-]?\d+$"),
    ("number", r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$"),
    ("true or false", r"^(?i:true|false|yes|no)$"),
    ("date", f"^{_DAY}$"),
    ("time stamp", f"^{_DAY}[ T]{_CLOCK}$"),
)
_DATED = frozenset({"date", "time stamp"})
# Arrow's `strptime` has no directive for parts of seconds and zones, so a time stamp is tried by its date.
_DATE_FORMATS = (
    ("%Y-%m-%d", r"^\d{4}-\d{1,2}-\d{1,2}"),
    ("%Y/%m/%d", r"^\d{4}/\d{1,2}/\d{1,2}"),
    ("%Y.%m.%d", r"^\d{4}\.\d{1,2}\.\d{1,2}"),
    ("%d.%m.%Y", r"^\d{1,2}\.\d{1,2}\.\d{4}"),
    ("%d.%m.%y", r"^\d{1,2}\.\d{1,2}\.\d\d$"),
    ("%d/%m/%Y", r"^\d{1,2}/\d{1,2}/\d{4}"),
    ("%m/%d/%Y", r"^\d{1,2}/\d{1,2}/\d{4}"),
    ("%d/%m/%y", r"^\d{1,2}/\d{1,2}/\d\d$"),
    ("%m/%d/%y", r"^\d{1,2}/\d{1,2}/\d\d$"),
    ("%d-%m-%Y", r"^\d{1,2}-\d{1,2}-\d{4}"),
    ("%m-%d-%Y", r"^\d{1,2}-\d{1,2}-\d{4}"),
    ("%d %b %Y", r"^\d{1,2} [A-Za-z]{3} \d{4}"),
    ("%d-%b-%Y", r"^\d{1,2}-[A-Za-z]{3}-\d{4}"),
)


def profile_column(field: pa.Field, column: pa.Array) -> ColumnProfile:
    """Return the profile of a comparable column; the metadata of `field` may hold a better name for its type."""
    valid = column.drop_null() if column.null_count else column
    profile = ColumnProfile(null_count=len(column) - len(valid), **field_description(field))
    if not is_comparable(column.type):
        return profile.model_copy(update={"distinct_count": None if len(valid) else 0})
    counts = pc.value_counts(valid)
    distinct = len(counts)
    statistics: dict[str, Any] = {
        "distinct_count": distinct,
        "is_unique": bool(len(valid)) and distinct == len(column),
        "is_constant": distinct == 1 and not profile.null_count,
        "top_values": _top_values(counts) if are_categories(field.type, distinct, len(valid)) else (),
    }
    if len(valid):
        ends = pc.min_max(valid)
        statistics |= {"minimum": json_value(ends["min"]), "maximum": json_value(ends["max"])} | _spread(valid)
        statistics["text"] = _profile_text(valid) if is_text(valid.type) else None
    return profile.model_copy(update=statistics)


def field_description(field: pa.Field) -> dict[str, Any]:
    """Return the fields of a `ColumnProfile` that a column's Arrow field determines."""
    metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    return {
        "name": field.name,
        "arrow_type": metadata.get("shown_type", str(field.type)),
        "time_zone": field.type.tz if pa.types.is_timestamp(field.type) else None,
        "pandas_dtype": metadata.get("pandas_dtype"),
        "is_index": "is_index" in metadata,
    }


def are_categories(kind: pa.DataType, distinct: int, valid_count: int) -> bool:
    """Return whether the values repeat so often that a profile lists the commonest."""
    if distinct == valid_count:
        return False
    return distinct <= _FEW_VALUES or (is_category(kind) and distinct <= min(_MANY_CATEGORIES, valid_count // 2))


def is_category(kind: pa.DataType) -> bool:
    """Return whether values of the type may be categories."""
    if pa.types.is_dictionary(kind):
        return is_category(kind.value_type)
    return bool(pa.types.is_boolean(kind) or is_text(kind) or kind == pa.string_view())


def _spread(valid: pa.Array) -> dict[str, Any]:
    """Return mean, deviation, quartiles and outliers; for dates and times only the quartiles, which are real values."""
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
        "outlier_count": _count_outside(numbers, first - reach, third + reach) if 0 < reach < math.inf else None,
    }


def _count_outside(numbers: pa.Array, low: float, high: float) -> int:
    least, greatest = arrow_floats(low, high)
    return int(pc.sum(pc.or_(pc.less(numbers, least), pc.greater(numbers, greatest))).as_py())


def _top_values(counts: pa.StructArray) -> tuple[tuple[JsonValue, int], ...]:
    """Return the commonest values with their counts; equally common values in ascending order."""
    values, numbers = counts.field("values"), counts.field("counts")
    order = pc.sort_indices(
        pa.RecordBatch.from_arrays([numbers, values], ["count", "value"]),
        sort_keys=[("count", "descending"), ("value", "ascending")],
    ).slice(0, MOST_TOP_VALUES)
    return tuple(zip(json_values(values.take(order)), numbers.take(order).to_pylist(), strict=True))


# --- texts ---


def _profile_text(valid: pa.Array) -> TextProfile:
    """Return the profile of the texts of a column that has no nulls and at least one text."""
    lengths = pc.utf8_length(valid)
    trimmed = pc.utf8_trim_whitespace(valid)
    extremes = pc.min_max(lengths).as_py()
    kinds = _count_kinds(trimmed)
    formats = _date_formats(trimmed) if _DATED & {kind for kind, _ in kinds} else ()
    return TextProfile(
        shortest=extremes["min"],
        longest=extremes["max"],
        mean_length=pc.mean(lengths).as_py(),
        empty_count=_empty_count(trimmed),
        padded_count=int(pc.sum(pc.not_equal(pc.utf8_length(trimmed), lengths)).as_py()),
        shapes=count_shapes(valid),
        kinds=kinds,
        formats=formats,
        date_range=_date_range(trimmed, formats),
    )


def count_shapes(texts: pa.Array) -> tuple[tuple[str, int], ...]:
    """Return the commonest shapes of the texts; of long texts only the first characters count."""
    distinct = pc.value_counts(pc.utf8_slice_codeunits(texts, 0, _SHAPED_CHARACTERS))
    shapes = distinct.field("values")
    for pattern, sign in _SHAPE_REPLACEMENTS:
        shapes = pc.replace_substring_regex(shapes, pattern, sign)
    counts: Counter[str] = Counter()
    for shape, count in zip(shapes.to_pylist(), distinct.field("counts").to_pylist(), strict=True):
        counts[shape] += count
    return _commonest(counts, _MOST_SHAPES)


def _count_kinds(trimmed: pa.Array) -> tuple[tuple[str, int], ...]:
    """Count the trimmed texts by the kind of value that they read as; empty texts are left out."""
    counts: Counter[str] = Counter()
    remaining = trimmed
    for kind, pattern in _KINDS:
        if not len(remaining):
            break
        matches = pc.match_substring_regex(remaining, pattern)
        counts[kind] = _count(matches)
        remaining = remaining.filter(pc.invert(matches)) if counts[kind] else remaining
    counts["text"] = len(remaining) - _empty_count(remaining)
    return _commonest(counts, len(_KINDS) + 1)


def _date_formats(trimmed: pa.Array) -> tuple[tuple[str, int], ...]:
    """Return the date formats with the number of texts that fit each.

    Of formats with the same pattern, only those with the most texts are kept: `01/02/2024` fits two, and if both fit
    all texts, both are returned.
    """
    counts: Counter[str] = Counter()
    for date_format, pattern in _DATE_FORMATS:
        days = _parse_days(trimmed, date_format, pattern)
        counts[date_format] = len(days) - days.null_count
    best: dict[str, int] = {}
    for date_format, pattern in _DATE_FORMATS:
        best[pattern] = max(best.get(pattern, 0), counts[date_format])
    kept = Counter({name: counts[name] for name, pattern in _DATE_FORMATS if counts[name] == best[pattern]})
    return _commonest(kept, _MOST_SHAPES)


def _parse_days(trimmed: pa.Array, date_format: str, pattern: str) -> pa.Array:
    """Parse the texts that match the pattern; null if the format does not fit."""
    matching = pc.extract_regex(trimmed, f"(?P<date>{pattern})").drop_null()
    if not len(matching):
        return pa.nulls(0, pa.timestamp("s"))
    return pc.strptime(matching.field("date"), format=date_format, unit="s", error_is_null=True)


def _date_range(trimmed: pa.Array, formats: tuple[tuple[str, int], ...]) -> tuple[str, str] | None:
    """Return the first and the last day; None if two formats fit best."""
    counts = [count for _, count in formats[:2]]
    if not counts or counts[0] in counts[1:]:
        return None
    best = formats[0][0]
    ends = pc.min_max(_parse_days(trimmed, best, dict(_DATE_FORMATS)[best]))
    first, last = (str(ends[end].cast(pa.date32()).cast(pa.string())) for end in ("min", "max"))
    return first, last


def _empty_count(trimmed: pa.Array) -> int:
    return _count(pc.invert(pc.match_substring_regex(trimmed, ".")))


def _count(mask: pa.Array) -> int:
    return int(pc.sum(mask).as_py() or 0)


def _commonest(counts: Counter[str], limit: int) -> tuple[tuple[str, int], ...]:
    """Return the names with the highest counts, equal counts by name; zero counts are left out."""
    ranked = sorted(((name, count) for name, count in counts.items() if count), key=lambda pair: (-pair[1], pair[0]))
    return tuple(ranked[:limit])
