"""Weighed evidence: words and patterns, each with the languages that it speaks for, or against.

A pattern is only searched for where a cheap sign of it occurs, so that the cost of a text depends on what is in it and
not on how many patterns there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Literal, TypeAlias

from flyteplugins_codegen.source.inference.samples import Sample

Weights: TypeAlias = tuple[tuple[str, float], ...]
Scores: TypeAlias = dict[str, float]
Reading: TypeAlias = Literal["code", "text", "lowered"]
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_LETTER: Final = re.compile(r"\w")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mark:
    """A pattern that speaks for languages, looked for where one of its `needles` occurs.

    A needle is a whole word, or holds a sign that is no letter; every text that the pattern matches holds one of them.
    `reading` says where to look: in the code without what strings and comments say, in the text as written, or in the
    code in lower case. A leading `^` is the beginning of a line past its indentation, a leading `\\n` one without any.
    """

    needles: tuple[str, ...]
    pattern: str
    weights: Weights
    reading: Reading = "code"


def mark(needles: str, pattern: str, **weights: float) -> Mark:
    """A mark of the code; `needles` are separated by blanks. No pattern repeats a repetition."""
    return Mark(needles=tuple(needles.split()), pattern=pattern, weights=tuple(weights.items()))


def raw_mark(needles: str, pattern: str, **weights: float) -> Mark:
    """A mark that may also stand within a string or a comment."""
    return Mark(needles=tuple(needles.split()), pattern=pattern, weights=tuple(weights.items()), reading="text")


def any_case_mark(needles: str, pattern: str, **weights: float) -> Mark:
    """A mark, in lower case, of code that may be written in either."""
    return Mark(needles=tuple(needles.split()), pattern=pattern, weights=tuple(weights.items()), reading="lowered")


def words(listed: str, **weights: float) -> dict[str, Weights]:
    """The listed words, each with the same weights."""
    return dict.fromkeys(listed.split(), tuple(weights.items()))


@dataclass(frozen=True, slots=True)
class Evidence:
    """All words and marks, in the order in which a text is asked for them."""

    weights_of: dict[str, Weights] = field(default_factory=dict)
    marks_of: dict[str, tuple[Mark, ...]] = field(default_factory=dict)
    signed: dict[str, tuple[tuple[str, Mark], ...]] = field(default_factory=dict)

    def weigh(self, sample: Sample) -> Scores:
        """How much speaks for each language. A word or a pattern counts once, however often it occurs."""
        scores: Scores = {}
        found = set(_WORD.findall(sample.code))
        for word in found & self.weights_of.keys():
            _add(self.weights_of[word], scores)
        texts = {"code": f"\n{sample.code}\n", "text": f"\n{sample.text}\n", "lowered": f"\n{sample.code.lower()}\n"}
        for candidate in self._candidates(found, sample.text):
            if compiled(candidate.pattern).search(texts[candidate.reading]):
                _add(candidate.weights, scores)
        return scores

    def _candidates(self, found: set[str], text: str) -> set[Mark]:
        spellings = found | {word.lower() for word in found}
        candidates = {mark for word in spellings & self.marks_of.keys() for mark in self.marks_of[word]}
        for sign in set(text) & self.signed.keys():
            candidates.update(mark for needle, mark in self.signed[sign] if needle in text)
        return candidates


def gathered(tables: Iterable[Mapping[str, Weights]], marks: Iterable[Mark]) -> Evidence:
    """The evidence of all tables and marks; a word that is in several tables speaks for every language that they name."""
    evidence = Evidence()
    for table in tables:
        for word, weights in table.items():
            evidence.weights_of[word] = evidence.weights_of.get(word, ()) + weights
    for candidate in marks:
        for needle in candidate.needles:
            if _WORD.fullmatch(needle):
                evidence.marks_of[needle] = (*evidence.marks_of.get(needle, ()), candidate)
            else:
                sign = _LETTER.sub("", needle)[0]
                evidence.signed[sign] = (*evidence.signed.get(sign, ()), (needle, candidate))
    return evidence


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled when it is first needed: there are hundreds."""
    return re.compile(r"\n[ \t]*" + pattern[1:] if pattern.startswith("^") else pattern, re.MULTILINE)


def _add(weights: Weights, scores: Scores) -> None:
    for language, weight in weights:
        scores[language] = scores.get(language, 0.0) + weight
