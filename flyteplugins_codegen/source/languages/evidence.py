"""Weighed evidence: words and patterns, each with the languages that it speaks for, or against.

A pattern is only searched for where a cheap sign of it occurs, so that the cost of a text depends on what is in it and
not on how many patterns there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeAlias

# The part of a text that is looked at: its beginning, past the banner of comments that a file may open with.

_WINDOW_CHARS: Final = 16_384
_SAMPLE_CHARS: Final = (400, 1_000)
_LONG_BANNER_CHARS: Final = 200

_BANNER: Final = re.compile(
    r"\s*(?:/\*[\s\S]*?\*/|<!--[\s\S]*?-->|[rRuU]?\"{3}[\s\S]*?\"{3}|(?://|#(?![!\[]|include|define|if|pragma)|--(?!-))[^\n]*(?:\n|$))"
)
# What strings and comments say, in whatever language, says nothing of the language around them. Each alternative begins
# with a literal character, for which a search is fast.
_STRING_OR_COMMENT: Final = re.compile(
    r'"{3}[\s\S]*?"{3}|"[^"\\\n]*(?:\\.[^"\\\n]*){0,20}"|'
    r"'{3}[\s\S]*?'{3}|'(?<![\w\\]')[^'\\\n]*(?:\\.[^'\\\n]*){0,20}'(?!\w)|"
    r"/\*[\s\S]*?(?:\*/|\Z)|//(?<![:\w]//)[^\n]*|#(?<!\S#)[ \t][^\n]*|-(?<![^\n]-)-[ \t][^\n]*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What is judged: `text` as written, `code` without what strings and comments say, `lines` that are not blank."""

    text: str
    code: str
    lines: tuple[str, ...]


def samples_of(text: str) -> Iterator[Sample]:
    """A short sample, which tells most languages, then a longer one where there is more; none of a blank text."""
    window = text[:_WINDOW_CHARS].lstrip("\ufeff")
    if "\r" in window:
        window = window.replace("\r\n", "\n").replace("\r", "\n")
    body = window[_banner_end(window) :].strip("\n")
    for chars in _SAMPLE_CHARS if body.strip() else ():
        cut = _cut(body, chars)
        yield _sample(cut)
        if len(cut) == len(body):
            break


def _sample(text: str) -> Sample:
    return Sample(
        text=text,
        code=_STRING_OR_COMMENT.sub(_emptied, text),
        lines=tuple(line for line in text.split("\n") if line and not line.isspace()),
    )


def _banner_end(window: str) -> int:
    """Where a long banner of comments ends, 0 for a short one: it tells a little, and all there is may be a comment."""
    end = 0
    while (comment := _BANNER.match(window, end)) and comment.end() > end:
        end = comment.end()
    is_all = not window[end:].strip()
    return 0 if end < _LONG_BANNER_CHARS or is_all else end


def _cut(text: str, chars: int) -> str:
    if len(text) <= chars:
        return text
    end = text.rfind("\n", 0, chars)
    return text[: end if end > chars // 2 else chars]


def _emptied(found: re.Match[str]) -> str:
    """The signs that a string or a comment begins and ends with."""
    text = found[0]
    if text[0] == "#":
        return "#"
    if text[0] in "-/":
        return text[:2]
    return text[0] * 6 if text[1:3] == text[0] * 2 else text[0] * 2


Weights: TypeAlias = tuple[tuple[str, float], ...]
Scores: TypeAlias = dict[str, float]
Reading: TypeAlias = Literal["code", "text", "lowered"]
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_LETTER: Final = re.compile(r"\w")
_WORD_FIRST: Final = re.compile(r"\A\\b(?P<word>\w{2,})(?![?*+{\w])")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mark:
    r"""A pattern that speaks for languages, looked for where one of its `needles` occurs.

    A needle is a whole word, or holds a sign that is no letter; a text without any of them is not searched. `reading`
    says where to look: in the code without what strings and comments say, in the text as written, or in the code in
    lower case. A leading `^` is the beginning of a line past its indentation, a leading `\n` one without any.
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


def names(listed: str) -> frozenset[str]:
    """The names of a list that is written with blanks between them."""
    return frozenset(listed.split())


def words(listed: str, **weights: float) -> dict[str, Weights]:
    """The listed words, each with the same weights."""
    return dict.fromkeys(listed.split(), tuple(weights.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All words and marks. Marks are found by the words among their needles, or by a sign that a needle holds."""

    weights_of: Mapping[str, Weights]
    marks_of: Mapping[str, tuple[Mark, ...]]
    signed: Mapping[str, tuple[tuple[str, Mark], ...]]

    def weigh(self, sample: Sample) -> Scores:
        """How much speaks for each language. A word or a pattern counts once, however often it occurs."""
        scores: Scores = {}
        for word in set(_WORD.findall(sample.code)) & self.weights_of.keys():
            _add(self.weights_of[word], scores)
        for found in self.marks_in(sample):
            _add(found.weights, scores)
        # In whatever order a set was gone through, the sum is the same.
        return {language: round(score, 6) for language, score in scores.items()}

    def marks_in(self, sample: Sample) -> set[Mark]:
        """The marks that occur in a sample."""
        texts = {"code": f"\n{sample.code}\n", "text": f"\n{sample.text}\n", "lowered": f"\n{sample.code.lower()}\n"}
        return {mark for mark in self._candidates(sample) if compiled(mark.pattern).search(texts[mark.reading])}

    def _candidates(self, sample: Sample) -> set[Mark]:
        found = set(_WORD.findall(sample.code))
        spellings = found | {word.lower() for word in found}
        candidates = {mark for word in spellings & self.marks_of.keys() for mark in self.marks_of[word]}
        for sign in set(sample.text) & self.signed.keys():
            candidates.update(mark for needle, mark in self.signed[sign] if needle in sample.text)
        return candidates


def gathered(tables: Iterable[Mapping[str, Weights]], marks: Iterable[Mark]) -> Evidence:
    """The evidence of all tables and marks; a word that is in several speaks for every language that they name."""
    weights_of: dict[str, Weights] = {}
    for table in tables:
        for word, weights in table.items():
            weights_of[word] = (*weights_of.get(word, ()), *weights)
    marks_of: dict[str, tuple[Mark, ...]] = {}
    signed: dict[str, tuple[tuple[str, Mark], ...]] = {}
    for candidate in marks:
        for needle in candidate.needles:
            if _WORD.fullmatch(needle):
                marks_of[needle] = (*marks_of.get(needle, ()), candidate)
            else:
                sign = _LETTER.sub("", needle)[0]
                signed[sign] = (*signed.get(sign, ()), (needle, candidate))
    return Evidence(weights_of=weights_of, marks_of=marks_of, signed=signed)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    r"""The pattern, compiled when it is first needed: there are hundreds.

    A search leaps to what a pattern begins with only if that is literal. So a line's beginning becomes a line end, and
    `\bword` becomes `word` with a look back.
    """
    if pattern.startswith("^"):
        pattern = r"\n[ \t]*" + pattern[1:]
    return re.compile(_WORD_FIRST.sub(r"\g<word>(?<=\\b\g<word>)", pattern), re.MULTILINE)


def _add(weights: Weights, scores: Scores) -> None:
    for language, weight in weights:
        scores[language] = scores.get(language, 0.0) + weight
