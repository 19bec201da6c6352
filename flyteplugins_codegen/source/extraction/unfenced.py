"""Code in a reply without any fence: the whole reply, between sentences, or in code spans."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from flyteplugins_codegen.source.extraction.info_strings import file_above, language_above
from flyteplugins_codegen.source.extraction.lines import (
    indentation,
    is_prose,
    item_width,
    open_literal,
    without_containers,
)
from flyteplugins_codegen.source.extraction.passage import Passage
from flyteplugins_codegen.source.languages.infer import infer_lang
from flyteplugins_codegen.source.languages.names import LANGUAGES

_COPY_BUTTONS = frozenset({"copy code", "copy", "copied!"})
_CODE_LANGUAGES = frozenset(LANGUAGES) - {"text", "markdown", "csv"}
_MARKDOWN_LINE = re.compile(r"[ \t]*(?:#{1,6}[ \t]|[-*+][ \t]|\d{1,3}[.)][ \t]|>|---+[ \t]*\Z|\Z)")
_INDENT = 4
_BACKTICKS = re.compile(r"`+")


def find_loose(lines: Sequence[str]) -> list[Passage]:
    """The runs of lines between sentences that clearly are code, in order."""
    passages = (_passage(lines, first, end) for first, end in _runs(lines))
    return [passage for passage in passages if passage]


def _runs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The start and end index of every run of lines that are not prose, blank edges excluded."""
    first: int | None = None
    end, literal = 0, ""
    for number, line in enumerate(lines):
        if not literal and is_prose(line, lines[number + 1] if number + 1 < len(lines) else ""):
            if first is not None:
                yield first, end
            first = None
        elif line.strip():
            first, end = number if first is None else first, number + 1
        literal = open_literal("python", line, literal)
    if first is not None:
        yield first, end


def _passage(lines: Sequence[str], first: int, end: int) -> Passage | None:
    titles = _titles(lines[first:end])
    body = lines[first + titles : end]
    above = lines[first] if titles else next((lines[n] for n in range(first - 1, -1, -1) if lines[n].strip()), "")
    indent = _INDENT + item_width(above)
    if above and all(indentation(line) >= indent for line in body if line.strip()):
        body = [without_containers(line, 0, indent) or "" for line in body]
    code = "\n".join(body)
    language = language_above(above) if titles else ""
    if not language and (all(map(_MARKDOWN_LINE.match, body)) or infer_lang(code) not in _CODE_LANGUAGES):
        return None
    return Passage(code=code, first=first, last=end - 1, language=language, above=above)


def _titles(run: Sequence[str]) -> int:
    """How many lines at the start name the code's language or file, as text copied from a web page has them."""
    if not run[1:] or not (language_above(run[0]) or file_above(run[0])):
        return 0
    has_button = run[1].strip().lower() in _COPY_BUTTONS and bool(run[2:])
    return 2 if has_button else 1


def find_spans(lines: Sequence[str], taken: Collection[int]) -> Iterator[tuple[int, str]]:
    """The line index and the code of every code span (CommonMark 0.31, section 6.1), outside of the `taken` lines.

    Blanks around the code are stripped, and line ends in it become blanks.
    """
    numbers = range(len(lines))
    for is_text, group in groupby(numbers, lambda number: number not in taken and bool(lines[number].strip())):
        if is_text:
            paragraph = list(group)
            yield from _spans("\n".join(lines[number] for number in paragraph), paragraph[0])


def _spans(paragraph: str, number: int) -> Iterator[tuple[int, str]]:
    runs = [(match.start(), match.end()) for match in _BACKTICKS.finditer(paragraph)]
    by_length: dict[int, list[int]] = defaultdict(list)
    for at, (start, end) in enumerate(runs):
        by_length[end - start].append(at)
    at = counted = 0
    while at < len(runs):
        start, end = runs[at]
        start += _is_escaped(paragraph, start, runs[at - 1][1] if at else 0)
        alike = by_length.get(end - start, [])
        partner = bisect_right(alike, at)
        code = paragraph[end : runs[alike[partner]][0]].strip() if start < end and partner < len(alike) else ""
        if code:
            number += paragraph.count("\n", counted, start)
            counted = start
            yield number, code.replace("\n", " ")
        at = alike[partner] + 1 if partner < len(alike) and start < end else at + 1


def _is_escaped(text: str, start: int, stop: int) -> bool:
    """Whether an odd number of backslashes precedes `start`."""
    first = start
    while first > stop and text[first - 1] == "\\":
        first -= 1
    return (start - first) % 2 == 1
