"""The part of a text that is looked at: its beginning, past the banner of comments that a file may open with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

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
