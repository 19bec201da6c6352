"""The statistics of one column that is in memory: all of a small sample's, or some rows of a large one's.

By Arrow's own kernels: for as much as fits in memory they are as fast as a database, and need none to be opened.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    import numpy as np

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]
    Places = np.ndarray[Any, np.dtype[Any]]

# What the texts of a column look like: lengths, shapes, what they read as, and which dates they hold.

_MOST_SHAPES = 5
_SHAPED_CHARACTERS = 60
# What each letter and digit becomes; longer runs follow.
_STEPS = (
    (r"\p{Lu}", "A"),
    (r"[\p{Ll}\p{Lt}\p{Lm}\p{Lo}]", "a"),
    (r"\p{Nd}", "9"),
    (r"A{5,}", "A+"),
    (r"a{5,}", "a+"),
    (r"9{5,}", "9+"),
    (r"\s+", " "),
)
# In this order, the first that fits; texts are compared without the blanks around them.
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


def profile_text(valid: pa.Array) -> TextProfile:
    """The texts of a column without nulls, at least one."""
    lengths = pc.utf8_length(valid)
    trimmed = pc.utf8_trim_whitespace(valid)
    extremes = pc.min_max(lengths).as_py()
    kinds = count_kinds(trimmed)
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
    """The commonest shapes of the texts; long ones by their beginning."""
    distinct = pc.value_counts(pc.utf8_slice_codeunits(texts, 0, _SHAPED_CHARACTERS))
    shapes = distinct.field("values")
    for pattern, sign in _STEPS:
        shapes = pc.replace_substring_regex(shapes, pattern, sign)
    counted: Counter[str] = Counter()
    for shape, count in zip(shapes.to_pylist(), distinct.field("counts").to_pylist(), strict=True):
        counted[shape] += count
    return _commonest(counted, _MOST_SHAPES)


def count_kinds(trimmed: pa.Array) -> tuple[tuple[str, int], ...]:
    """What the texts, without the blanks around them, read as; empty ones are left out."""
    counted: Counter[str] = Counter()
    left = trimmed
    for kind, pattern in _KINDS:
        if not len(left):
            break
        fits = pc.match_substring_regex(left, pattern)
        counted[kind] = _count(fits)
        left = left.filter(pc.invert(fits)) if counted[kind] else left
    counted["text"] = len(left) - _empty_count(left)
    return _commonest(counted, len(_KINDS) + 1)


def _date_formats(trimmed: pa.Array) -> tuple[tuple[str, int], ...]:
    """The formats with how many texts they fit; a format that fits only what another fits better is left out.

    `01/02/2024` fits two: where both fit all of them, both are named.
    """
    counted: Counter[str] = Counter()
    for form, pattern in _DATE_FORMATS:
        days = _days(trimmed, form, pattern)
        counted[form] = len(days) - days.null_count
    best: dict[str, int] = {}
    for form, pattern in _DATE_FORMATS:
        best[pattern] = max(best.get(pattern, 0), counted[form])
    kept = Counter({form: counted[form] for form, pattern in _DATE_FORMATS if counted[form] == best[pattern]})
    return _commonest(kept, _MOST_SHAPES)


def _days(trimmed: pa.Array, form: str, pattern: str) -> pa.Array:
    """The days of the texts that match; null where the format does not fit."""
    matching = pc.extract_regex(trimmed, f"(?P<date>{pattern})").drop_null()
    if not len(matching):
        return pa.nulls(0, pa.timestamp("s"))
    return pc.strptime(matching.field("date"), format=form, unit="s", error_is_null=True)


def _date_range(trimmed: pa.Array, formats: tuple[tuple[str, int], ...]) -> tuple[str, str] | None:
    """The first and the last day, where one format fits best."""
    counts = [count for _, count in formats[:2]]
    if not counts or counts[0] in counts[1:]:
        return None
    form = formats[0][0]
    ends = pc.min_max(_days(trimmed, form, dict(_DATE_FORMATS)[form]))
    first, last = (str(ends[end].cast(pa.date32()).cast(pa.string())) for end in ("min", "max"))
    return first, last


def _empty_count(trimmed: pa.Array) -> int:
    return _count(pc.invert(pc.match_substring_regex(trimmed, ".")))


def _count(mask: pa.Array) -> int:
    return int(pc.sum(mask).as_py() or 0)


def _commonest(counted: Counter[str], limit: int) -> tuple[tuple[str, int], ...]:
    """By count, equal ones by name; none that does not occur."""
    found = sorted(((name, count) for name, count in counted.items() if count), key=lambda pair: (-pair[1], pair[0]))
    return tuple(found[:limit])


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


# How long the texts of a column are, batch by batch.

_LAST_BLANK = 0x20
_FIRST_NOT_ASCII = 0x80


class TextLengths:
    """Lengths in characters, and how many texts are empty, or begin or end with a blank."""

    def __init__(self) -> None:
        self._shortest: int | None = None
        self._longest = 0
        self._characters = 0
        self._count = 0
        self._empty_count = 0
        self._padded_count = 0

    def add(self, column: pa.Array) -> None:
        """Take in the next texts; nulls are none."""
        import numpy as np

        valid = column.drop_null() if column.null_count else column
        if not len(valid):
            return
        places, data = _buffers(valid)
        lengths = np.diff(places)
        within = data[places[0] : places[-1]]
        if len(within) and within.max() >= _FIRST_NOT_ASCII:
            lengths = _characters(valid)
        shortest = int(lengths.min())
        self._shortest = shortest if self._shortest is None else min(self._shortest, shortest)
        self._longest = max(self._longest, int(lengths.max()))
        self._characters += int(lengths.sum())
        self._count += len(valid)
        self._add_blanks(valid, places, data)

    def told(self) -> dict[str, Any]:
        """The fields of a `TextProfile` that this knows; all zero where there was no text."""
        return {
            "shortest": self._shortest or 0,
            "longest": self._longest,
            "mean_length": self._characters / self._count if self._count else 0.0,
            "empty_count": self._empty_count,
            "padded_count": self._padded_count,
        }

    def _add_blanks(self, valid: pa.Array, places: Places, data: Bytes) -> None:
        firsts, ends = places[:-1], places[1:] - 1
        if not self._shortest:
            is_filled = ends >= firsts
            firsts, ends = firsts[is_filled], ends[is_filled]
        is_padded = (data[firsts] <= _LAST_BLANK) | (data[ends] <= _LAST_BLANK)
        self._empty_count += len(valid) - len(firsts)
        if is_padded.any():
            # Rare, so that it may cost more; a text of blanks alone is empty.
            trimmed = pc.utf8_trim_whitespace(valid)
            self._padded_count += _count(pc.not_equal(pc.binary_length(trimmed), pc.binary_length(valid)))
            self._empty_count += _count(pc.invert(pc.match_substring_regex(trimmed, "(?s)."))) - (
                len(valid) - len(firsts)
            )


def _buffers(texts: pa.Array) -> tuple[Places, Bytes]:
    """Where each text begins, and the last one ends, in the bytes of all."""
    import numpy as np

    kind: Any = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, places, data = texts.buffers()
    width = np.dtype(kind).itemsize
    found = np.frombuffer(places, kind, len(texts) + 1, texts.offset * width)
    return found, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)


def _characters(texts: pa.Array) -> Places:
    import numpy as np

    lengths = pc.utf8_length(texts)
    kind: Any = np.int64 if pa.types.is_int64(lengths.type) else np.int32
    return np.frombuffer(lengths.buffers()[1], kind, len(lengths), lengths.offset * np.dtype(kind).itemsize)
