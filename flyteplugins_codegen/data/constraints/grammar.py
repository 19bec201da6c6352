"""A constraint in words as rules: `sales.price between 0 and 10000`, `no nulls in x`, `end is after start`.

A sentence is a column (or several), then what is said of it; or `no nulls in` and its likes, then the column. All of
the sentence has to be understood: what is not known here gives nothing, and is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flyteplugins_codegen.data.constraints.predicates import Terms, read_comparison, read_predicate
from flyteplugins_codegen.data.constraints.subjects import NotApplicableError, Subject, Vocabulary
from flyteplugins_codegen.models.rules import AppliedConstraint, Rule

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
