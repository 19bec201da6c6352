"""Whether a job's description asks for an order of the rows that it has written, and for how values are rounded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from flyteplugins_codegen.data.derived.wording import speaks_of_ties
from flyteplugins_codegen.models.job import TypeName

RowOrder: TypeAlias = Literal["free", "asked", "asked_with_ties"]
"""`asked`: rows are sorted, but nothing says in which order equal ones stand; `asked_with_ties`: that is said too."""

_ORDERED_OUTPUTS = frozenset({"file", "directory", "str"})
_SUPERLATIVE = r"(?:\w{2,}est|most|least|best|worst|top)"
_ASKED = re.compile(
    r"\b(?:sort(?:ed|s|ing)?|ordered|ordering|arrange[ds]?|ranked)\b[^.;:]{0,60}?\b(?:by|on|according to)\b|"
    # The noun is no request: "the first order of each customer by date".
    r"(?:^|[.;:,(]\s*|\b(?:and|then|must|should|please|to) )order\b[^.;:]{0,40}?\b(?:by|on|according to)\b|"
    r"\b(?:sort|order|arrange)\b[^.;:]{0,40}\b(?:ascending|descending|alphabetical|chronological|"
    r"increasing|decreasing)|"
    r"\b(?:sort|sorted|ordered|arranged|listed)\b[^.;:]{0,30}\b(?:alphabetically|chronologically|numerically|ascending|"
    r"descending|from|desc|asc)\b|"
    r"(?:^|[.;:,]\s*|\b(?:and|then) )rank (?:the )?\w[^.;:]{0,40} by\b|"
    r"\bin (?:\w+ ){0,2}?(?:ascending|descending|increasing|decreasing|rising|falling|chronological|alphabetical|"
    r"alphabetic|numerical|numeric|calendar|reverse|original|input|file|time|date|sorted|lexical|"
    r"lexicographic(?:al)?) order\b|"
    rf"\b{_SUPERLATIVE}\b(?: [\w-]+){{0,3}} (?:comes |come |goes )?(?:first|on top|at the top|last)(?![\w-])|"
    rf"\bfrom (?:the )?{_SUPERLATIVE}\b[^.;,]{{0,25}} to (?:the )?{_SUPERLATIVE}\b|"
    r"\b(?:high|low|large|small|big|old|new|early|late|long|short|best|worst|a)(?:\w*) to (?:the )?"
    r"(?:high|low|large|small|big|old|new|early|late|long|short|worst|best|z)\w*\b|"
    r"\b(?:original|input|file)(?:'s)? order\b|\border (?:is |of the (?:file|input|"
    r"rows) (?:is )?)?(?:kept|preserved|retained)|"
    r"\b(?:keep|preserve|maintain|retain)\w* (?:\w+ ){0,3}order\b|"
    r"\bin (?:the |their )?(?:same )?order (?:in which|of (?:the )?(?:file|input|rows|appearance|"
    r"first|their|date|time)|they|as)|"
    r"\bin the order of (?:the )?\w+|\b(?:starts?|begins?|starting|beginning) with the (?:\w+est|leader|best|most|top)|"
    rf"\b(?:the {_SUPERLATIVE})\b[^.;:,]{{0,40}} (?:comes|come|goes|go|stands) (?:first|last)\b|"
    r"[,(]\s*(?:in )?(?:ascending|descending)\b|\bin order of (?:the |their |its )?\w+|"
    r"\bmust be (?:sorted|ordered)",
    re.IGNORECASE | re.MULTILINE,
)
_FREE = re.compile(
    r"\b(?:in )?any order\b|\border\b[^.;]{0,25}(?:does not|doesn't|is not|isn't|not) (?:matter|important|relevant)|"
    r"\bno particular order\b|\border (?:of (?:the )?rows )?(?:is )?(?:irrelevant|unimportant)|\bunordered\b",
    re.IGNORECASE,
)
# What is said of the data that comes in, not of what is written.
_OF_INPUT = re.compile(
    r"\b(?:rows|lines)\b (?:may |might |can |do not )?(?:come|arrive)\b|"
    r"\b(?:input|sample|source|data|events?|readings?|records|entries|measurements|files?|csv)\b[^.;,]{0,30}"
    r"\b(?:is|are|come|comes|arrives?|may be|might be|were|was)\b (?:already |not |always |usually |"
    r"un)*(?:sorted|ordered)\b|"
    r"\b(?:not|aren't|isn't|un-?) ?(?:sorted|ordered|in order)\b|\bsorted (?:input|data|sample|file)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.;!?])\s+|\n+")
_ROUNDED = re.compile(
    r"\bround(?:ed|s|ing)?\b|\bdecimals?\b|\bdecimal places?\b|\b(?:significant|fractional) (?:digits|figures)\b|"
    r"\bnearest (?:\w+ )?(?:cent|integer|whole|hundred|thousand|ten|unit|0?\.\d+)|\btruncat\w+|"
    r"\bwhole (?:numbers?|percents?)\b|"
    r"\b(?:two|three|one|four|\d) digits after\b|\bto the cent\b|%\.\d+f",
    re.IGNORECASE,
)


def order_asked(description: str, outputs: Mapping[str, TypeName]) -> RowOrder:
    """Return the order of rows that a description asks for; "free" for outputs that hold no rows."""
    if not _ORDERED_OUTPUTS.intersection(outputs.values()):
        return "free"
    sentences = [sentence for sentence in _SENTENCE.split(description) if not _OF_INPUT.search(sentence)]
    is_free = any(_FREE.search(sentence) for sentence in sentences)
    if is_free or not any(_ASKED.search(sentence) for sentence in sentences):
        return "free"
    return "asked_with_ties" if speaks_of_ties(description) else "asked"


def is_rounding_fixed(description: str) -> bool:
    """Whether a description says to how many decimals numbers are rounded."""
    return _ROUNDED.search(description) is not None
