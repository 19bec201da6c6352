"""What a constraint says of a column: `between 0 and 10`, `is one of A, B`, `matches ...`, `unique`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from flyteplugins_codegen.data.constraints.patterns import read_pattern
from flyteplugins_codegen.data.constraints.subjects import NotApplicableError
from flyteplugins_codegen.data.constraints.values import read_bound, read_list

Terms: TypeAlias = Mapping[str, Any]
"""The fields of a `Rule` but for its column."""

_ABOVE = r"(?:greater|more|larger|higher|bigger|later) than|above|over|after|exceeds?|>"
_BELOW = r"(?:less|fewer|smaller|lower|earlier) than|below|under|before|<"
_AT_LEAST = rf"at least|(?:{_ABOVE})\s*(?:or equal to|=)|>=|minimum(?: of)?|on or after"
_AT_MOST = rf"at most|(?:{_BELOW})\s*(?:or equal to|=)|<=|maximum(?: of)?|up to|on or before"
_EQUAL = r"equal to|equals?|the same as|exactly|identical to|==?"
_MODAL = re.compile(
    r"(?:(?:must|should|shall|has to|have to|needs? to|will|is|are|does|do)\b|(?P<may>can|may)\b)?\s*"
    r"(?P<no>not\b|never\b)?\s*(?:always\s+)?(?:(?:be|have|has|contain|contains)\b\s*)?"
    r"(?P<late>not\b|never\b)?\s*(?:always\s+)?(?:a value\s+)?",
    re.IGNORECASE,
)
_MATCHES = re.compile(
    r"(?:must |should |has to )?(?:match(?:es)?|follow(?:s)?)\s+(?:the )?"
    r"(?:(?:pattern|regex|regular expression|format)\s+)?(.+)\Z",
    re.IGNORECASE,
)


def read_predicate(text: str) -> tuple[Terms, ...] | None:
    """The conditions that the text states, all of it; None for words that are not known here.

    Raises NotApplicableError for what can never hold, and a pattern that is none.
    """
    text = text.strip().lstrip(":,").strip()
    pattern = _MATCHES.match(text)
    if pattern:
        written = read_pattern(pattern[1].strip())
        return None if written is None else ({"kind": "matches", "pattern": written},)
    is_negated, words = _without_modal(text)
    if is_negated is None:
        return None
    return _negated(words) if is_negated else _stated(words)


def read_comparison(text: str) -> tuple[str, str] | None:
    """`is after start`, `>= low`: the comparison and the words that name the other column."""
    is_negated, words = _without_modal(text.strip())
    if is_negated is None:
        return None
    for sign, pattern in _COMPARISONS:
        found = re.match(rf"(?:{pattern})(?=\W|\Z)\s*(?:the )?(.+)\Z", words, re.IGNORECASE)
        if found:
            return (_OPPOSITES[sign] if is_negated else sign), found[1]
    return None


_COMPARISONS = (
    (">=", _AT_LEAST),
    ("<=", _AT_MOST),
    (">", _ABOVE),
    ("<", _BELOW),
    ("!=", r"different from|differs? from|!=|<>"),
    ("==", _EQUAL),
)
_OPPOSITES = MappingProxyType({">=": "<", "<": ">=", "<=": ">", ">": "<=", "==": "!=", "!=": "=="})


def _without_modal(text: str) -> tuple[bool | None, str]:
    """Whether it is denied, and the rest; None for what is merely allowed (`may be null`), which is no condition."""
    text = re.sub(r"\b(can)not\b|\b(must|should|is|are|does|do)n't\b", r"\1\2 not", text, flags=re.IGNORECASE)
    found = _MODAL.match(text)
    assert found is not None  # noqa: S101 - every part of it may be absent
    is_negated = bool(found["no"] or found["late"])
    return (None if found["may"] and not is_negated else is_negated), text[found.end() :].strip()


def _range(low: Any = None, high: Any = None, **ends: bool) -> tuple[Terms, ...]:
    return ({"kind": "range", "minimum": low, "maximum": high, **ends},)


_SIMPLE: tuple[tuple[str, tuple[Terms, ...]], ...] = (
    (r"(?:strictly )?positive(?: numbers?| values?)?", _range(0, excludes_minimum=True)),
    (r"(?:strictly )?negative(?: numbers?| values?)?", _range(None, 0, excludes_maximum=True)),
    (r"non-?\s?negative|zero or (?:more|greater|above|positive)|positive or zero", _range(0)),
    (r"non-?\s?positive|zero or (?:less|below|negative)|negative or zero", _range(None, 0)),
    (r"non-?\s?zero", ({"kind": "none_of", "values": ("0",)},)),
    (r"unique|distinct|without duplicates|no duplicates?|no repeated values?", ({"kind": "unique"},)),
    (
        (
            r"non-?\s?(?:null|empty|missing)|required|mandatory|filled(?: in)?|present|"
            r"(?:no|without) (?:nulls?|missing values?|empty (?:values?|cells?))"
        ),
        ({"kind": "not_null"},),
    ),
    (r"(?:an? )?(?:integers?|whole numbers?)", ({"kind": "type", "type": "integer"},)),
    (r"(?:an? )?(?:numbers?|numeric|floats?|decimals?)", ({"kind": "type", "type": "number"},)),
    (r"(?:an? )?(?:booleans?|true or false)", ({"kind": "type", "type": "boolean"},)),
    (
        r"(?:an? )?(?:valid )?(?:iso )?(?:dates?|times?|timestamps?|time stamps?|datetimes?)",
        ({"kind": "type", "type": "time"},),
    ),
)
_DENIED: tuple[tuple[str, tuple[Terms, ...]], ...] = (
    (r"(?:be )?(?:null|nulls|empty|missing|blank|missing values)", ({"kind": "not_null"},)),
    (r"negative(?: numbers?| values?)?", _range(0)),
    (r"positive(?: numbers?| values?)?", _range(None, 0)),
    (r"zero|0", ({"kind": "none_of", "values": ("0",)},)),
    (r"repeat(?:ed)?|duplicates?|duplicated|duplicate values", ({"kind": "unique"},)),
)


def _first(table: tuple[tuple[str, tuple[Terms, ...]], ...], words: str) -> tuple[Terms, ...] | None:
    return next((terms for pattern, terms in table if re.fullmatch(pattern, words, re.IGNORECASE)), None)


def _stated(words: str) -> tuple[Terms, ...] | None:
    return _first(_SIMPLE, words) or next((terms for read in _READERS if (terms := read(words)) is not None), None)


def _negated(words: str) -> tuple[Terms, ...] | None:
    simple = _first(_DENIED, words)
    if simple is not None:
        return simple
    listed = re.fullmatch(r"(?:one of|in|any of|equal to|equal|either)\s*:?\s*(.+)", words, re.IGNORECASE)
    items = read_list(listed[1]) if listed else None
    if items:
        return ({"kind": "none_of", "values": items},)
    comparison = _one_sided(words)
    if comparison is None:
        return None
    sign, bound = comparison
    return _bounded(_OPPOSITES[sign], bound)


def _one_sided(words: str) -> tuple[str, Any] | None:
    for sign, pattern in _COMPARISONS[:4]:
        found = re.match(rf"(?:{pattern})(?=\W|\Z)\s*(.+)\Z", words, re.IGNORECASE)
        if found:
            bound = read_bound(found[1])
            return None if bound is None else (sign, bound)
    return None


def _bounded(sign: str, bound: Any) -> tuple[Terms, ...]:
    if sign in {">", ">="}:
        return _range(bound, excludes_minimum=sign == ">")
    return _range(None, bound, excludes_maximum=sign == "<")


def _read_one_sided(words: str) -> tuple[Terms, ...] | None:
    found = _one_sided(words)
    if found is not None:
        return _bounded(*found)
    suffixed = re.fullmatch(
        r"(.+?) (?:or|and) (more|greater|above|higher|later|less|fewer|below|lower|earlier)", words, re.IGNORECASE
    )
    bound = read_bound(suffixed[1]) if suffixed else None
    if suffixed is None or bound is None:
        return None
    is_low = suffixed[2].casefold() in {"more", "greater", "above", "higher", "later"}
    return _range(bound) if is_low else _range(None, bound)


_BETWEEN = re.compile(
    r"(?:(?:in|within) (?:the )?range (?:of |from )?|between |from |within |in )?"
    r"(?P<open>[\[(])?\s*(?P<low>[^\s\])]+?)\s*(?:,\s*| and | to | ?\.\. ?| ?- ?)"
    r"(?P<high>[^\s\[(]+?)\s*(?P<close>[\])])?"
    r"(?:,?\s*\(?(?P<ends>inclusive(?:ly)?|exclusive(?:ly)?|both (?:included|inclusive|excluded|exclusive))\)?)?\Z",
    re.IGNORECASE,
)


def _read_between(words: str) -> tuple[Terms, ...] | None:
    found = _BETWEEN.match(words)
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    # A list `0, 1` is no range; an interval `[0, 1]` is.
    if not found["open"] and not re.match(r"between|from|within|in (?:the )?range|.+\.\.|.+ to ", words, re.IGNORECASE):
        return None
    low, high = read_bound(found["low"]), read_bound(found["high"])
    if low is None or high is None:
        return None
    if isinstance(low, str) != isinstance(high, str) or low > high:  # type: ignore[operator]  # both of one kind
        raise NotApplicableError(f"nothing is between {low} and {high}")
    is_open = "ex" in (found["ends"] or "").casefold()
    return _range(
        low, high, excludes_minimum=is_open or found["open"] == "(", excludes_maximum=is_open or found["close"] == ")"
    )


_LISTED = re.compile(
    r"(?:(?:exactly )?one of|any of|either|in|among|limited to|equal to|equals?|==?)\s*:?\s*(.+)", re.IGNORECASE
)


def _read_list(words: str) -> tuple[Terms, ...] | None:
    found = _LISTED.fullmatch(words)
    if found is None:
        return None
    text = re.sub(r"^the (?:set|list|values?|following)(?: of)?:?\s*", "", found[1], flags=re.IGNORECASE)
    is_one = re.match(r"equal|=", words, re.IGNORECASE)
    items = read_list(text)
    if (
        not items
        or (is_one and len(items) > 1)
        or (words[:3].casefold() == "in " and len(items) == 1 and text[0] not in "[({")
    ):
        return None
    return ({"kind": "one_of", "values": items},)


def _read_length(words: str) -> tuple[Terms, ...] | None:
    found = re.fullmatch(r"(.+?) (?:characters?|letters?|digits?|chars)(?: long| in length)?", words, re.IGNORECASE)
    if found is None or "digit" in words.casefold() or "letter" in words.casefold():
        return None
    exact = read_bound(re.sub(r"^exactly ", "", found[1], flags=re.IGNORECASE))
    terms = _range(exact, exact) if exact is not None else _read_one_sided(found[1]) or _read_between(found[1])
    if terms is None or not all(isinstance(terms[0].get(end) or 0, int) for end in ("minimum", "maximum")):
        return None
    return ({**terms[0], "kind": "length"},)


_READERS: tuple[Callable[[str], tuple[Terms, ...] | None], ...] = (
    _read_length,
    _read_one_sided,
    _read_between,
    _read_list,
)
