"""A constraint in words as rules: `sales.price between 0 and 10000`, `no nulls in x`, `end is after start`.

A sentence is a column (or several), then what is said of it; or `no nulls in` and its likes, then the column. All of
the sentence has to be understood: what is not known here gives nothing, and is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from flyteplugins_codegen.data.constraints.terms import (
    NotApplicableError,
    Subject,
    Vocabulary,
    read_bound,
    read_list,
    read_pattern,
)
from flyteplugins_codegen.models.data import AppliedConstraint, Rule

# What a constraint says of a column: `between 0 and 10`, `is one of A, B`, `matches ...`, `unique`.

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


_LEADS = re.compile(
    r"(?:(?:all|every|each|any|the|an?)\s+)*(?:(?:values?|entries|cells)\s+(?:of|in)\s+)?(?:the\s+)?(?:columns?\s+)?(?:the\s+)?",
    re.IGNORECASE,
)
_INVERTED = re.compile(
    r"(?:there (?:are|must be|should be|is) )?(?P<what>no (?:nulls?|missing values?|empty (?:values?|cells?)|"
    r"duplicates?|duplicate values?|repeated values?|negative (?:values?|numbers?)))"
    r"(?: values?)? (?:in|for|of|within|allowed in) (?P<rest>.+)\Z",
    re.IGNORECASE,
)
_SIGN = re.compile(r"\s*(<=|>=|==|!=|<>|(?<![<>=!])[<>=](?!=))\s*")


def read_constraint(text: str, vocabulary: Vocabulary) -> AppliedConstraint:
    """The constraint's rules.

    None, and a reason, where it is clear that it cannot be applied; neither where it is not understood.
    """
    sentence = " ".join(text.split()).rstrip(".;! ")
    try:
        found = list(_read(sentence, vocabulary))
    except NotApplicableError as error:
        return AppliedConstraint(text=text, read_by="grammar", reason=str(error))
    tables = {subject.table for subject, _ in found}
    if len(tables) != 1:
        return AppliedConstraint(text=text)
    rules = tuple(Rule(column=subject.column, **terms) for subject, terms in found)
    return AppliedConstraint(text=text, table=tables.pop(), rules=rules, read_by="grammar")


def _read(sentence: str, vocabulary: Vocabulary) -> Iterator[tuple[Subject, Terms]]:
    inverted = _INVERTED.match(sentence)
    if inverted:
        yield from _inverted(inverted["what"], inverted["rest"], vocabulary)
        return
    read = _subjects(sentence, vocabulary) or _subjects(_spaced(sentence), vocabulary)
    if read is None:
        return
    subjects, rest = read
    terms = _ordered(subjects, rest, vocabulary) or _conditions(rest) or ()
    for subject in subjects:
        yield from ((subject, term) for term in terms)


def _spaced(sentence: str) -> str:
    """`end>start` as `end > start`."""
    return _SIGN.sub(r" \1 ", sentence)


def _subjects(sentence: str, vocabulary: Vocabulary) -> tuple[list[Subject], str] | None:
    """The columns that the sentence begins with: one, or several joined by commas and `and`."""
    subjects: list[Subject] = []
    rest = sentence
    while True:
        # A column may be called `value` or `the`: as it stands first, then without what leads to it.
        read = vocabulary.read(rest) or vocabulary.read(_without_lead(rest))
        if read is None:
            return None
        subjects.append(read[0])
        joined = re.match(r"\s*(?:,\s*(?:and\s+)?|and\s+|\s+and\s+)", read[1])
        following = read[1][joined.end() :] if joined else ""
        if joined is None or not (vocabulary.read(following) or vocabulary.read(_without_lead(following))):
            return subjects, _without_tail(read[1])
        rest = following


def _without_lead(text: str) -> str:
    found = _LEADS.match(text)
    return text[found.end() :] if found else text


def _without_tail(rest: str) -> str:
    return re.sub(
        r"^\s*(?:values?|entries|columns?)\s+(?=(?:must|should|shall|is|are|has|have|needs?)\b)", "", rest
    ).strip()


def _inverted(what: str, rest: str, vocabulary: Vocabulary) -> Iterator[tuple[Subject, Terms]]:
    read = _subjects(rest, vocabulary)
    if read is None or read[1]:
        return
    kind = "not_null" if re.search(r"null|missing|empty", what, re.IGNORECASE) else "unique"
    terms: Terms = {"kind": "range", "minimum": 0} if "negative" in what.casefold() else {"kind": kind}
    yield from ((subject, terms) for subject in read[0])


def _ordered(subjects: list[Subject], rest: str, vocabulary: Vocabulary) -> tuple[Terms, ...] | None:
    """`end is after start`: a comparison with another column of the same table."""
    compared = read_comparison(_spaced(f" {rest} ").strip())
    # `status equals "end"`: in such quotes it is a value.
    other = vocabulary.read(compared[1]) if compared and compared[1][0] not in "\"'" else None
    if compared is None or other is None or other[1].strip():
        return None
    if any(subject.table != other[0].table for subject in subjects):
        raise NotApplicableError(f"{subjects[0].column!r} and {other[0].column!r} are columns of different tables")
    return ({"kind": "order", "comparison": compared[0], "other_column": other[0].column},)


def _conditions(rest: str) -> tuple[Terms, ...] | None:
    """All of it as one condition, or else both parts of a sentence joined by `and`."""
    whole = read_predicate(rest) or read_predicate(_spaced(f" {rest} ").strip())
    if whole is not None:
        return whole
    for joint in re.finditer(r",?\s+and\s+", rest):
        first, second = read_predicate(rest[: joint.start()]), _conditions(rest[joint.end() :])
        if first is not None and second is not None:
            return (*first, *second)
    return None
