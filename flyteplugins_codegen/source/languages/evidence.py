"""Weighted evidence for languages: words and patterns, each with positive or negative weights, and the text to search.

A pattern is only searched for if one of its short literal needles occurs, so the cost of a text depends on its content
and not on the number of patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeAlias

Weights: TypeAlias = tuple[tuple[str, float], ...]
Scores: TypeAlias = dict[str, float]
Reading: TypeAlias = Literal["code", "text", "lowered"]

_WINDOW_CHARS: Final = 16_384
_SAMPLE_CHARS: Final = (400, 1_000)
_LONG_BANNER_CHARS: Final = 200

_BANNER: Final = re.compile(
    r"\s*(?:/\*[\s\S]*?\*/|<!--[\s\S]*?-->|[rRuU]?\"{3}[\s\S]*?\"{3}|(?://|#(?![!\[]|include|define|if|pragma)|--(?!-))[^\n]*(?:\n|$))"
)
# The contents of strings and comments say nothing about the language. Each alternative begins with a literal character,
# because such a search is fast.
_STRING_OR_COMMENT: Final = re.compile(
    r'"{3}[\s\S]*?"{3}|"[^"\\\n]*(?:\\.[^"\\\n]*){0,20}"|'
    r"'{3}[\s\S]*?'{3}|'(?<![\w\\]')[^'\\\n]*(?:\\.[^'\\\n]*){0,20}'(?!\w)|"
    r"/\*[\s\S]*?(?:\*/|\Z)|//(?<![:\w]//)[^\n]*|#(?<!\S#)[ \t][^\n]*|-(?<![^\n]-)-[ \t][^\n]*"
)
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_LETTER: Final = re.compile(r"\w")
_LEADING_WORD: Final = re.compile(r"\A\\b(?P<word>\w{2,})(?![?*+{\w])")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSample:
    """A part of a text: `text` as written, `code` with strings and comments emptied, `lines` that are not blank."""

    text: str
    code: str
    lines: tuple[str, ...]


def samples_of(text: str) -> Iterator[CodeSample]:
    """A short sample, which is enough for most languages, then a longer one if there is more; none of a blank text."""
    window = text[:_WINDOW_CHARS].lstrip("\ufeff")
    if "\r" in window:
        window = window.replace("\r\n", "\n").replace("\r", "\n")
    body = window[_banner_end(window) :].strip("\n")
    for chars in _SAMPLE_CHARS if body.strip() else ():
        cut = _cut(body, chars)
        yield _sample(cut)
        if len(cut) == len(body):
            break


def _sample(text: str) -> CodeSample:
    return CodeSample(
        text=text,
        code=_STRING_OR_COMMENT.sub(_emptied, text),
        lines=tuple(line for line in text.split("\n") if line and not line.isspace()),
    )


def _banner_end(window: str) -> int:
    """Where a long banner of comments ends; 0 if it is short or the whole text, because then it is evidence too."""
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


def _emptied(match: re.Match[str]) -> str:
    """The delimiters of a string or a comment, without its content."""
    text = match[0]
    if text[0] == "#":
        return "#"
    if text[0] in "-/":
        return text[:2]
    return text[0] * 6 if text[1:3] == text[0] * 2 else text[0] * 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LanguagePattern:
    r"""A regular expression that is evidence for languages, searched for if one of its `needles` occurs.

    A needle is a whole word, or contains a character that is neither letter, digit nor underscore. `reading` says what
    is searched: the code with strings and comments emptied, the text as written, or the code in lower case. A leading
    `^` matches the start of a line after its indentation, a leading `\n` the start of a line that is not indented.
    """

    needles: tuple[str, ...]
    regex: str
    weights: Weights
    reading: Reading = "code"


def pattern(needles: str, regex: str, **weights: float) -> LanguagePattern:
    """A pattern of the code; `needles` are separated by blanks. No regular expression may nest repetitions."""
    return LanguagePattern(needles=tuple(needles.split()), regex=regex, weights=tuple(weights.items()))


def raw_pattern(needles: str, regex: str, **weights: float) -> LanguagePattern:
    """A pattern that may also match in a string or a comment."""
    return LanguagePattern(needles=tuple(needles.split()), regex=regex, weights=tuple(weights.items()), reading="text")


def any_case_pattern(needles: str, regex: str, **weights: float) -> LanguagePattern:
    """A pattern, in lower case, of code that is not case-sensitive."""
    return LanguagePattern(
        needles=tuple(needles.split()), regex=regex, weights=tuple(weights.items()), reading="lowered"
    )


def names(listed: str) -> frozenset[str]:
    """The names in a list that is separated by blanks."""
    return frozenset(listed.split())


def words(listed: str, **weights: float) -> dict[str, Weights]:
    """The words in a list that is separated by blanks, each with the same weights."""
    return dict.fromkeys(listed.split(), tuple(weights.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageEvidence:
    """All words and patterns; patterns are indexed by needles that are words and by a character of other needles."""

    weights_by_word: Mapping[str, Weights]
    patterns_by_word: Mapping[str, tuple[LanguagePattern, ...]]
    patterns_by_character: Mapping[str, tuple[tuple[str, LanguagePattern], ...]]

    def weigh(self, sample: CodeSample) -> Scores:
        """A score for each language. A word or a pattern counts once, however often it occurs."""
        scores: Scores = {}
        for word in set(_WORD.findall(sample.code)) & self.weights_by_word.keys():
            _add(self.weights_by_word[word], scores)
        for item in self.patterns_in(sample):
            _add(item.weights, scores)
        # Rounded, so that the order of the sets does not change the sums.
        return {language: round(score, 6) for language, score in scores.items()}

    def patterns_in(self, sample: CodeSample) -> set[LanguagePattern]:
        """The patterns that occur in a sample."""
        texts = {"code": f"\n{sample.code}\n", "text": f"\n{sample.text}\n", "lowered": f"\n{sample.code.lower()}\n"}
        return {item for item in self._candidates(sample) if compiled(item.regex).search(texts[item.reading])}

    def _candidates(self, sample: CodeSample) -> set[LanguagePattern]:
        words_in_code = set(_WORD.findall(sample.code))
        spellings = words_in_code | {word.lower() for word in words_in_code}
        by_word = self.patterns_by_word
        candidates = {item for word in spellings & by_word.keys() for item in by_word[word]}
        for character in set(sample.text) & self.patterns_by_character.keys():
            items = self.patterns_by_character[character]
            candidates.update(item for needle, item in items if needle in sample.text)
        return candidates


def gather_evidence(tables: Iterable[Mapping[str, Weights]], patterns: Iterable[LanguagePattern]) -> LanguageEvidence:
    """The evidence of all tables and patterns; a word in several tables has the weights of all of them."""
    weights_by_word: dict[str, Weights] = {}
    for table in tables:
        for word, weights in table.items():
            weights_by_word[word] = (*weights_by_word.get(word, ()), *weights)
    by_word: dict[str, tuple[LanguagePattern, ...]] = {}
    by_character: dict[str, tuple[tuple[str, LanguagePattern], ...]] = {}
    for item in patterns:
        for needle in item.needles:
            if _WORD.fullmatch(needle):
                by_word[needle] = (*by_word.get(needle, ()), item)
            else:
                character = _LETTER.sub("", needle)[0]
                by_character[character] = (*by_character.get(character, ()), (needle, item))
    return LanguageEvidence(
        weights_by_word=weights_by_word, patterns_by_word=by_word, patterns_by_character=by_character
    )


@cache
def compiled(regex: str) -> re.Pattern[str]:
    r"""The compiled expression, made when it is first needed, because there are hundreds.

    `re` searches fast only for expressions that begin with a literal. So a leading `^` is replaced by a line end, and
    `\bword` by `word` with a look-behind.
    """
    if regex.startswith("^"):
        regex = r"\n[ \t]*" + regex[1:]
    return re.compile(_LEADING_WORD.sub(r"\g<word>(?<=\\b\g<word>)", regex), re.MULTILINE)


def _add(weights: Weights, scores: Scores) -> None:
    for language, weight in weights:
        scores[language] = scores.get(language, 0.0) + weight
