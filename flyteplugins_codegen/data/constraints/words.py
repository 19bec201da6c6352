"""The words of conditions: modal verbs and negations, comparisons, and conditions that stand for themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from flyteplugins_codegen.data.constraints.bounds import Limit

Terms: TypeAlias = Mapping[str, Any]
"""The fields of a `Rule` without its column."""
Conditions: TypeAlias = tuple[Terms, ...]

_MODAL = re.compile(
    r"(?:(?:must|should|shall|has to|have to|needs? to|ought to|will|is|are|does|do)\b|(?P<may>can|may)\b)?\s*"
    r"(?P<no>not\b|never\b)?\s*(?P<only>only\b)?\s*(?:(?:always|all|both|each)\s+)*"
    r"(?:(?:be|have|has|take|takes|hold|holds|contains?(?= (?:only|no|a value)))\b\s*)?"
    r"(?P<late>not\b|never\b)?\s*(?:(?:always|all|both|each)\s+)*(?P<last>only\b)?\s*"
    r"(?:an? value (?=of|between|from|in)|of\s+)?",
    re.IGNORECASE,
)
_CONTRACTIONS = re.compile(r"\b(ca)n't\b|\b(can)not\b|\b(must|should|is|are|does|do)n't\b", re.IGNORECASE)
_VERBS = r"(?:(?:lies?|falls?|fall|lie|drops?|goes|go|stays?|remains?|comes?|come|occurs?|happens?|gets?|rises?)\s+)?"
_ABOVE = r"(?:greater|more|larger|higher|bigger) than|above|over|exceeds?|exceeding|>"
_BELOW = r"(?:less|fewer|smaller|lower) than|below|under|<"
_LATER = r"later than|after"
_EARLIER = r"earlier than|before|precedes?"
_AT_LEAST = (
    rf"at least|(?:{_ABOVE}) or equal(?: to)?|>=|\u2265|minimum(?: of)?|min\.?|no (?:less|lower|fewer|smaller) than"
)
_AT_MOST = (
    rf"at most|(?:{_BELOW}) or equal(?: to)?|<=|\u2264|maximum(?: of)?|max\.?|up to|(?:limited|capped) (?:to|at)|"
    r"no (?:more|greater|higher|larger) than"
)
_COMPARISONS = (
    # The sign, whether it speaks of time, the words.
    (">=", False, _AT_LEAST),
    ("<=", False, _AT_MOST),
    (">=", True, rf"on or after|(?:{_LATER}) or equal to|since|no earlier than|from"),
    ("<=", True, rf"on or before|(?:{_EARLIER}) or equal to|no later than|until|till|by"),
    (">", False, _ABOVE),
    ("<", False, _BELOW),
    (">", True, _LATER),
    ("<", True, _EARLIER),
    ("!=", False, r"different from|differs? from|differ from|!=|<>|\u2260|other than"),
    ("==", False, r"equal to|equals?|the same as|identical to|==?"),
)  # fmt: skip
OPPOSITES = MappingProxyType({">=": "<", "<": ">=", "<=": ">", ">": "<=", "==": "!=", "!=": "=="})
BETWEEN_LEAD = re.compile(
    r"(?P<strictly>strictly )?(?:"
    r"(?:lies? )?(?:in|within|on) (?:the |an? )?(?:range|interval|scale) (?:of |from |between )?|"
    r"ranges? (?:from |between )|goe?s? from |between |from |within |in |\u2208 )(?!or\b)|",
    re.IGNORECASE,
)
ENDS = re.compile(
    r",?\s*\(?(?P<ends>inclusive(?:ly)?|exclusive(?:ly)?|both (?:ends )?(?:included|inclusive|excluded|exclusive))\)?\Z"
    r"|,\s*(?P<end>\S+) (?:is )?(?P<fate>excluded|exclusive|included|inclusive)\Z",
    re.IGNORECASE,
)
JOINTS = (
    r" and ",
    r" up to ",
    r" through ",
    r" until ",
    r" to ",
    r"\s*\.\.\.?\s*",
    r"\s*\u2013\s*",
    r"(?<=[\d%])\s*-\s*(?=[\d$])",
)
ONE_OF = re.compile(
    r"(?:(?:exactly )?one of|any of|either|in|among|limited to|equal to|equals?|==?|\u2208|the values?|values?)\s*:?\s*"
    r"(?:the (?:set|list|values?|following)(?: values?| of)*:?\s*)?(?P<items>.+)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Modal:
    """What the verb of a condition says of the `words` after it.

    `is_shared` is for `never both empty`, which allows one of the two.
    """

    is_negated: bool
    is_permission: bool
    is_shared: bool
    words: str


def read_modal(text: str) -> Modal:
    """Split the text into its verb, such as `must not be`, and the rest; the verb may be absent."""
    text = _CONTRACTIONS.sub(lambda match: f"{'can' if match[1] else match[2] or match[3]} not", text)
    modal = _MODAL.match(text)
    assert modal is not None  # noqa: S101 - every part of the pattern is optional
    is_negated = (modal["no"] is not None) != (modal["late"] is not None)
    is_twice = modal["no"] is not None and modal["late"] is not None
    words = re.sub(rf"^{_VERBS}", "", text[modal.end() :].strip(), flags=re.IGNORECASE).strip()
    is_permission = modal["may"] is not None and not (modal["no"] or modal["late"] or modal["only"] or modal["last"])
    is_shared = is_negated and re.search(r"\b(?:all|both|each)\b", modal[0], re.IGNORECASE) is not None
    return Modal(is_negated and not is_twice, is_permission, is_shared, words)


_SIGN = re.compile(r"\s*(<=|>=|==|!=|<>|\u2264|\u2265|\u2260|\u2208|(?<![<>=!])[<>=](?!=))\s*")


def spaced(text: str) -> str:
    """The text with blanks around comparison signs, unless these are quoted."""
    return text if re.search(r"[\"'`]", text) and "<" in text else _SIGN.sub(r" \1 ", f" {text} ").strip()


def read_comparison(words: str) -> tuple[str, bool, str] | None:
    """Return the sign, whether it speaks of time, and the words that follow."""
    for sign, is_about_time, pattern in _COMPARISONS:
        match = re.match(rf"(?:{pattern})(?=\W|\Z)\s*(?:the (?!year|end|start|beginning))?(.+)\Z", words, re.IGNORECASE)
        if match:
            return sign, is_about_time, match[1]
    return None


def bounded(sign: str, limit: Limit) -> Conditions:
    """Return the range on one side of the limit: after 2020 begins when 2020 ends."""
    if sign in {">", ">="}:
        return span(limit.last if sign == ">" else limit.first, excludes_minimum=sign == ">")
    return span(None, limit.first if sign == "<" else limit.last, excludes_maximum=sign == "<")


def span(low: Any = None, high: Any = None, **ends: bool) -> Conditions:
    """Return the condition of a range with these ends, either of them open (None)."""
    return ({"kind": "range", "minimum": low, "maximum": high, **ends},)


MORE = ("more", "greater", "above", "higher", "later", "up", "older", "over")
LESS = ("less", "fewer", "below", "lower", "earlier", "younger", "under", "smaller")
MATCHES = re.compile(
    r"(?:must |should |has to )?(?:match(?:es)?|follow(?:s)?)\s+(?:the )?"
    r"(?:(?:pattern|regex|regular expression|format)\s+)?(.+)\Z",
    re.IGNORECASE,
)
TYPES = (
    ("integer", r"integers?|whole numbers?"),
    ("number", r"numbers?|numeric|floats?|decimals?"),
    ("", r"percentages?|fractions?|values?"),
)
TYPED = re.compile(
    r"(?:an? )?(?P<unique>unique )?(?P<sign>(?:strictly )?positive|negative|non-?\s?negative|non-?\s?positive)?\s?"
    r"(?P<type>integers?|whole numbers?|numbers?|numeric|floats?|decimals?|percentages?|fractions?)"
    r"(?:,? (?P<rest>"
    r"(?:between|from|in|of|at|above|below|greater|less|more|under|over|no|within|\u2265|\u2264|[<>]).*))?",
    re.IGNORECASE,
)
SIMPLE: tuple[tuple[str, Conditions], ...] = (
    (r"(?:strictly )?positive(?: numbers?| values?)?", span(0, excludes_minimum=True)),
    (r"(?:strictly )?negative(?: numbers?| values?)?", span(None, 0, excludes_maximum=True)),
    (r"non-?\s?negative|(?:zero|0) or (?:more|greater|above|positive)|positive or zero", span(0)),
    (r"non-?\s?positive|(?:zero|0) or (?:less|below|negative)|negative or zero", span(None, 0)),
    (r"non-?\s?zero", ({"kind": "none_of", "values": ("0",)},)),
    (r"unique|distinct|without duplicates|no duplicates?|no repeated values?", ({"kind": "unique"},)),
    (r"(?:the |a )?primary key", ({"kind": "unique"}, {"kind": "not_null"})),
    (
        (
            r"non-?\s?(?:null|empty|missing|blank)|required|mandatory|filled(?: in)?|present|given|provided|"
            r"(?:no|without) (?:nulls?|missing values?|empty (?:values?|cells?))"
        ),
        ({"kind": "not_null"},),
    ),
    (r"(?:an? )?(?:booleans?|true or false|bool)", ({"kind": "type", "type": "boolean"},)),
    (
        r"(?:an? )?(?:valid )?(?:iso )?(?:dates?|timestamps?|time stamps?|datetimes?)",
        ({"kind": "type", "type": "time"},),
    ),
    (r"(?:a )?(?:text|string)", ({"kind": "type", "type": "text"},)),
)
SIMPLE_NEGATED: tuple[tuple[str, Conditions], ...] = (
    (
        r"(?:be )?(?:an? )?(?:null|nulls|empty|missing|blank|missing values)(?: or (?:null|empty|missing|blank))?",
        ({"kind": "not_null"},),
    ),
    (r"negative(?: numbers?| values?)?|(?:less than|below) zero", span(0)),
    (r"positive(?: numbers?| values?)?", span(None, 0)),
    (r"not positive|(?:zero|0) or (?:negative|less|below)|negative or (?:zero|0)", span(0, excludes_minimum=True)),
    (r"zero|0", ({"kind": "none_of", "values": ("0",)},)),
    (r"repeat(?:ed)?|duplicates?|duplicated|duplicate values", ({"kind": "unique"},)),
)  # fmt: skip
