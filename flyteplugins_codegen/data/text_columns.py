"""What the texts of a column look like: lengths, shapes, what they read as, and which dates they hold."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from flyteplugins_codegen.models.profile import TextProfile

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
