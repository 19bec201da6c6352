"""Code spans: code in a line of prose, between backticks (CommonMark 0.31, section 6.1)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

_BACKTICKS = re.compile(r"`+")


def find_spans(lines: Sequence[str], taken: Collection[int]) -> Iterator[tuple[int, str]]:
    """The index of the line and the code of every span in the paragraphs, but for the lines that are `taken`.

    Blanks around the code are no part of it, and a line end in it is a blank.
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
    """Whether an odd number of backslashes stands before `start`."""
    first = start
    while first > stop and text[first - 1] == "\\":
        first -= 1
    return (start - first) % 2 == 1
