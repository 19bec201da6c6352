"""The lines of a reply that hold a code fence.

The rules are those of CommonMark 0.31, section 4.5, with more patience: a fence may stand further in than three
columns, and may follow words on its line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from flyteplugins_codegen.source.replies.lines import columns

_CONTAINERS = r"[ \t]*(?:(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]*)*"
_FENCE_LINE = re.compile(rf"({_CONTAINERS})(`{{3,}}(?=[^`]*\Z)|~{{3,}})(.*)", re.DOTALL)
_PREFIX = re.compile(_CONTAINERS)
_BACKTICKS = re.compile(r"`{3,}")
_WORD = re.compile(r"[\w+#.:/-]*\Z")
# A backtick was lost, or taken for a quote: only where the line holds nothing else.
_SHORT_FENCE_LINE = re.compile(r"([ \t]*)(``|'{3})([A-Za-z][\w+#-]*)?[ \t]*\Z")
# The fence of `/// ```` is in a comment, that of `+```` in a diff; a backslash makes it ordinary text.
_LEADER = re.compile(r"(?:/{2,3}!?|#+|\*|--+|;+|%+|[-+]|.*\\)\s*\Z", re.DOTALL)
# `</answer>`, `<|im_end|>`: what may follow a closing fence.
_TAGS = re.compile(r"(?:<[/|]?\w[\w-]*\|?>)+\Z")


class FenceLine(NamedTuple):
    """A line with a fence: `number` is its index, `column` where the fence begins, counted after its quote marks.

    `before` are the words that it is glued to, `inner` the code of a block that opens and closes on this line.
    """

    number: int
    quotes: int
    in_item: bool
    column: int
    mark: str
    length: int
    info: str
    before: str = ""
    inner: str | None = None

    @property
    def is_bare(self) -> bool:
        """Whether nothing else is on the line, as on that of a closing fence."""
        return not self.before and self.inner is None and (not self.info or bool(_TAGS.match(self.info)))


def find_fence_lines(lines: Sequence[str]) -> list[FenceLine]:
    """Every line that may open or close a block, in order."""
    held = (_fence_line(number, line) for number, line in enumerate(lines) if "```" in line or "~~~" in line)
    return [fence for fence in held if fence]


def find_short_fence_lines(lines: Sequence[str]) -> list[FenceLine]:
    """The lines that are two backticks, or three quotes, and at most one word."""
    found = []
    for number, line in enumerate(lines):
        match = _SHORT_FENCE_LINE.match(line) if "``" in line or "'''" in line else None
        if match:
            found.append(FenceLine(number, 0, False, columns(match[1]), match[2][0], len(match[2]), match[3] or ""))
    return found


def _fence_line(number: int, line: str) -> FenceLine | None:
    match = _FENCE_LINE.match(line)
    if not match:
        return _fence_between_words(number, line)
    quotes, in_item, column = _place(match[1])
    return FenceLine(number, quotes, in_item, column, match[2][0], len(match[2]), match[3].strip())


def _fence_between_words(number: int, line: str) -> FenceLine | None:
    """The fence of a line that does not begin with one, or that holds several."""
    runs, prefix = [match.span() for match in _BACKTICKS.finditer(line)], _PREFIX.match(line)
    if not runs or not prefix:
        return None
    (start, end), text = runs[-1], prefix.end()
    fence = FenceLine(number, *_place(prefix[0]), "`", end - start, line[end:].strip())
    if runs[:-1] == [(text, text + fence.length)] and not fence.info:
        return fence._replace(inner=line[text + fence.length : start].strip())
    before = line[text:start]
    is_glued = len(runs) % 2 == 1 and _WORD.match(fence.info) and not _LEADER.match(before)
    return fence._replace(before=before) if is_glued else None  # an even number of them are code spans


def _place(prefix: str) -> tuple[int, bool, int]:
    """How many quotes, whether an item begins after them, and the column of what follows, counted from there."""
    if not prefix:
        return 0, False, 0
    after_quotes = columns(prefix[: prefix.rfind(">") + 1])
    column = columns(prefix) - after_quotes - (1 if after_quotes else 0)
    return prefix.count(">"), bool(prefix[prefix.rfind(">") + 1 :].strip()), max(0, column)
