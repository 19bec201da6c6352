"""Parses constraints in words: `sales.price between 0 and 10000`, `no nulls in x`, `end is after start`.

A sentence is one or more columns and a condition, or words such as `no nulls in` and the columns. The whole sentence
must be understood: if a part of it is unknown, the result has no rules. Nothing is guessed.
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

Terms: TypeAlias = Mapping[str, Any]
"""The fields of a `Rule` without its column."""

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
_BETWEEN = re.compile(
    r"(?:(?:in|within) (?:the )?range (?:of |from )?|between |from |within |in )?"
    r"(?P<open>[\[(])?\s*(?P<low>[^\s\])]+?)\s*(?:,\s*| and | to | ?\.\. ?| ?- ?)"
    r"(?P<high>[^\s\[(]+?)\s*(?P<close>[\])])?"
    r"(?:,?\s*\(?(?P<ends>inclusive(?:ly)?|exclusive(?:ly)?|both (?:included|inclusive|excluded|exclusive))\)?)?\Z",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"(?:(?:exactly )?one of|any of|either|in|among|limited to|equal to|equals?|==?)\s*:?\s*(.+)", re.IGNORECASE
)
_COMPARISONS = (
    (">=", _AT_LEAST),
    ("<=", _AT_MOST),
    (">", _ABOVE),
    ("<", _BELOW),
    ("!=", r"different from|differs? from|!=|<>"),
    ("==", _EQUAL),
)
_OPPOSITES = MappingProxyType({">=": "<", "<": ">=", "<=": ">", ">": "<=", "==": "!=", "!=": "=="})


def read_constraint(text: str, vocabulary: Vocabulary) -> AppliedConstraint:
    """Parse a constraint into rules.

    The result has no rules but a reason if the constraint can never be applied, and neither if it is not understood.
    """
    sentence = " ".join(text.split()).rstrip(".;! ")
    try:
        conditions = list(_read_sentence(sentence, vocabulary))
    except NotApplicableError as error:
        return AppliedConstraint(text=text, read_by="grammar", reason=str(error))
    tables = {subject.table for subject, _ in conditions}
    if len(tables) != 1:
        return AppliedConstraint(text=text)
    rules = tuple(Rule(column=subject.column, **terms) for subject, terms in conditions)
    return AppliedConstraint(text=text, table=tables.pop(), rules=rules, read_by="grammar")


def _read_sentence(sentence: str, vocabulary: Vocabulary) -> Iterator[tuple[Subject, Terms]]:
    inverted = _INVERTED.match(sentence)
    if inverted:
        yield from _read_inverted(inverted["what"], inverted["rest"], vocabulary)
        return
    parsed = _read_subjects(sentence, vocabulary) or _read_subjects(_spaced(sentence), vocabulary)
    if parsed is None:
        return
    subjects, rest = parsed
    terms = _read_order(subjects, rest, vocabulary) or _read_conditions(rest) or ()
    for subject in subjects:
        yield from ((subject, term) for term in terms)


def _spaced(sentence: str) -> str:
    """Put blanks around comparison signs: `end>start` becomes `end > start`."""
    return _SIGN.sub(r" \1 ", sentence)


def _read_subjects(sentence: str, vocabulary: Vocabulary) -> tuple[list[Subject], str] | None:
    """Read the columns at the beginning of the sentence, joined by commas and `and`; return them and the rest."""
    subjects: list[Subject] = []
    rest = sentence
    while True:
        # First with its leading words, because a column may be called `value` or `the`.
        parsed = vocabulary.read(rest) or vocabulary.read(_without_lead(rest))
        if parsed is None:
            return None
        subjects.append(parsed[0])
        joint = re.match(r"\s*(?:,\s*(?:and\s+)?|and\s+|\s+and\s+)", parsed[1])
        following = parsed[1][joint.end() :] if joint else ""
        if joint is None or not (vocabulary.read(following) or vocabulary.read(_without_lead(following))):
            return subjects, _without_tail(parsed[1])
        rest = following


def _without_lead(text: str) -> str:
    lead = _LEADS.match(text)
    return text[lead.end() :] if lead else text


def _without_tail(rest: str) -> str:
    return re.sub(
        r"^\s*(?:values?|entries|columns?)\s+(?=(?:must|should|shall|is|are|has|have|needs?)\b)", "", rest
    ).strip()


def _read_inverted(what: str, rest: str, vocabulary: Vocabulary) -> Iterator[tuple[Subject, Terms]]:
    parsed = _read_subjects(rest, vocabulary)
    if parsed is None or parsed[1]:
        return
    kind = "not_null" if re.search(r"null|missing|empty", what, re.IGNORECASE) else "unique"
    terms: Terms = {"kind": "range", "minimum": 0} if "negative" in what.casefold() else {"kind": kind}
    yield from ((subject, terms) for subject in parsed[0])


def _read_order(subjects: list[Subject], rest: str, vocabulary: Vocabulary) -> tuple[Terms, ...] | None:
    """Read a comparison with another column of the same table, such as `is after start`."""
    compared = _read_comparison(_spaced(f" {rest} ").strip())
    # In `status equals "end"` the quotes mark a value.
    other = vocabulary.read(compared[1]) if compared and compared[1][0] not in "\"'" else None
    if compared is None or other is None or other[1].strip():
        return None
    if any(subject.table != other[0].table for subject in subjects):
        raise NotApplicableError(f"{subjects[0].column!r} and {other[0].column!r} are columns of different tables")
    return ({"kind": "order", "comparison": compared[0], "other_column": other[0].column},)


def _read_conditions(rest: str) -> tuple[Terms, ...] | None:
    """Read the text as one condition, or else as conditions joined by `and`."""
    whole = _read_predicate(rest) or _read_predicate(_spaced(f" {rest} ").strip())
    if whole is not None:
        return whole
    for joint in re.finditer(r",?\s+and\s+", rest):
        first, second = _read_predicate(rest[: joint.start()]), _read_conditions(rest[joint.end() :])
        if first is not None and second is not None:
            return (*first, *second)
    return None


# --- conditions: `between 0 and 10`, `is one of A, B`, `matches ...`, `unique` ---


def _read_predicate(text: str) -> tuple[Terms, ...] | None:
    """Read the whole text as one condition; None for unknown words.

    Raises:
        NotApplicableError: the condition can never hold, or a pattern is not a valid regular expression.
    """
    text = text.strip().lstrip(":,").strip()
    pattern = _MATCHES.match(text)
    if pattern:
        written = read_pattern(pattern[1].strip())
        return None if written is None else ({"kind": "matches", "pattern": written},)
    is_negated, words = _without_modal(text)
    if is_negated is None:
        return None
    return _read_negated(words) if is_negated else _read_stated(words)


def _read_comparison(text: str) -> tuple[str, str] | None:
    """Read `is after start` or `>= low`: return the comparison and the words for the other column."""
    is_negated, words = _without_modal(text.strip())
    if is_negated is None:
        return None
    for sign, pattern in _COMPARISONS:
        match = re.match(rf"(?:{pattern})(?=\W|\Z)\s*(?:the )?(.+)\Z", words, re.IGNORECASE)
        if match:
            return (_OPPOSITES[sign] if is_negated else sign), match[1]
    return None


def _without_modal(text: str) -> tuple[bool | None, str]:
    """Return whether the text is negated, and the rest; None for a mere permission such as `may be null`."""
    text = re.sub(r"\b(can)not\b|\b(must|should|is|are|does|do)n't\b", r"\1\2 not", text, flags=re.IGNORECASE)
    modal = _MODAL.match(text)
    assert modal is not None  # noqa: S101 - every part of the pattern is optional
    is_negated = bool(modal["no"] or modal["late"])
    return (None if modal["may"] and not is_negated else is_negated), text[modal.end() :].strip()


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
_SIMPLE_NEGATED: tuple[tuple[str, tuple[Terms, ...]], ...] = (
    (r"(?:be )?(?:null|nulls|empty|missing|blank|missing values)", ({"kind": "not_null"},)),
    (r"negative(?: numbers?| values?)?", _range(0)),
    (r"positive(?: numbers?| values?)?", _range(None, 0)),
    (r"zero|0", ({"kind": "none_of", "values": ("0",)},)),
    (r"repeat(?:ed)?|duplicates?|duplicated|duplicate values", ({"kind": "unique"},)),
)


def _first(table: tuple[tuple[str, tuple[Terms, ...]], ...], words: str) -> tuple[Terms, ...] | None:
    return next((terms for pattern, terms in table if re.fullmatch(pattern, words, re.IGNORECASE)), None)


def _read_stated(words: str) -> tuple[Terms, ...] | None:
    return _first(_SIMPLE, words) or next(
        (terms for read in _CONDITION_READERS if (terms := read(words)) is not None), None
    )


def _read_negated(words: str) -> tuple[Terms, ...] | None:
    simple = _first(_SIMPLE_NEGATED, words)
    if simple is not None:
        return simple
    listed = re.fullmatch(r"(?:one of|in|any of|equal to|equal|either)\s*:?\s*(.+)", words, re.IGNORECASE)
    items = read_list(listed[1]) if listed else None
    if items:
        return ({"kind": "none_of", "values": items},)
    comparison = _match_comparison(words)
    if comparison is None:
        return None
    sign, bound = comparison
    return _bounded(_OPPOSITES[sign], bound)


def _match_comparison(words: str) -> tuple[str, Any] | None:
    for sign, pattern in _COMPARISONS[:4]:
        match = re.match(rf"(?:{pattern})(?=\W|\Z)\s*(.+)\Z", words, re.IGNORECASE)
        if match:
            bound = read_bound(match[1])
            return None if bound is None else (sign, bound)
    return None


def _bounded(sign: str, bound: Any) -> tuple[Terms, ...]:
    if sign in {">", ">="}:
        return _range(bound, excludes_minimum=sign == ">")
    return _range(None, bound, excludes_maximum=sign == "<")


def _read_one_sided(words: str) -> tuple[Terms, ...] | None:
    comparison = _match_comparison(words)
    if comparison is not None:
        return _bounded(*comparison)
    suffixed = re.fullmatch(
        r"(.+?) (?:or|and) (more|greater|above|higher|later|less|fewer|below|lower|earlier)", words, re.IGNORECASE
    )
    bound = read_bound(suffixed[1]) if suffixed else None
    if suffixed is None or bound is None:
        return None
    is_low = suffixed[2].casefold() in {"more", "greater", "above", "higher", "later"}
    return _range(bound) if is_low else _range(None, bound)


def _read_between(words: str) -> tuple[Terms, ...] | None:
    match = _BETWEEN.match(words)
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    # `0, 1` is a list, `[0, 1]` an interval.
    if not match["open"] and not re.match(r"between|from|within|in (?:the )?range|.+\.\.|.+ to ", words, re.IGNORECASE):
        return None
    low, high = read_bound(match["low"]), read_bound(match["high"])
    if low is None or high is None:
        return None
    if isinstance(low, str) != isinstance(high, str) or low > high:  # type: ignore[operator]  # both have one type
        raise NotApplicableError(f"nothing is between {low} and {high}")
    is_open = "ex" in (match["ends"] or "").casefold()
    return _range(
        low, high, excludes_minimum=is_open or match["open"] == "(", excludes_maximum=is_open or match["close"] == ")"
    )


def _read_list(words: str) -> tuple[Terms, ...] | None:
    match = _LISTED.fullmatch(words)
    if match is None:
        return None
    text = re.sub(r"^the (?:set|list|values?|following)(?: of)?:?\s*", "", match[1], flags=re.IGNORECASE)
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
    match = re.fullmatch(r"(.+?) (?:characters?|letters?|digits?|chars)(?: long| in length)?", words, re.IGNORECASE)
    if match is None or "digit" in words.casefold() or "letter" in words.casefold():
        return None
    exact = read_bound(re.sub(r"^exactly ", "", match[1], flags=re.IGNORECASE))
    terms = _range(exact, exact) if exact is not None else _read_one_sided(match[1]) or _read_between(match[1])
    if terms is None or not all(isinstance(terms[0].get(end) or 0, int) for end in ("minimum", "maximum")):
        return None
    return ({**terms[0], "kind": "length"},)


_CONDITION_READERS: tuple[Callable[[str], tuple[Terms, ...] | None], ...] = (
    _read_length,
    _read_one_sided,
    _read_between,
    _read_list,
)
