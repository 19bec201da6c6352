"""The lines of a reply that hold a code fence, and the indentation that the lines of a block lose.

The rules are those of CommonMark 0.31, section 4.5, with more patience: a fence may stand further in than three
columns, and may follow words on its line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_CONTAINERS = r"[ \t]*(?:(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]*)*"
_FENCE_LINE = re.compile(rf"({_CONTAINERS})(`{{3,}}(?=[^`]*\Z)|~{{3,}})(.*)", re.DOTALL)
_PREFIX = re.compile(_CONTAINERS)
_BACKTICKS = re.compile(r"`{3,}")
_WORD = re.compile(r"[\w+#.:/-]*\Z")
# A backtick was lost, or taken for a quote: only where the line holds nothing else.
_SHORT_FENCE_LINE = re.compile(r"([ \t]*)(``|\'{3})([A-Za-z][\w+#-]*)?[ \t]*\Z")
_TAB = 4
# `/// ```` in a comment, `+``` ` in a diff.
_LEADER = re.compile(r"(?:/{2,3}!?|#+|\*|--+|;+|%+|[-+])\s*\Z")
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
    return [
        mark
        for number, line in enumerate(lines)
        if "```" in line or "~~~" in line
        if (mark := _fence_line(number, line))
    ]


def find_short_fence_lines(lines: Sequence[str]) -> list[FenceLine]:
    """The lines that are two backticks, or three quotes, and at most one word."""
    found = []
    for number, line in enumerate(lines):
        match = _SHORT_FENCE_LINE.match(line) if "``" in line or "'''" in line else None
        if match:
            found.append(FenceLine(number, 0, False, _column(match[1]), match[2][0], len(match[2]), match[3] or ""))
    return found


def without_containers(line: str, quotes: int, column: int) -> str | None:
    """The line without its quote marks and as many columns of indentation; None if it is not that deep in quotes."""
    start = 0
    for _ in range(quotes):
        start = line.find(">", start) + 1
        if start == 0 or line[:start].strip("> \t"):
            return None
    end, at = _column(line[:start]), start
    wanted = end + column + (1 if quotes else 0)
    while at < len(line) and end < wanted and line[at] in " \t":
        end += 1 if line[at] == " " else _TAB - end % _TAB
        at += 1
    return " " * (end - wanted) + line[at:]


def indentation(line: str) -> int:
    """The columns of blanks that the line begins with."""
    return _column(line[: len(line) - len(line.lstrip(" \t"))])


def _fence_line(number: int, line: str) -> FenceLine | None:
    match = _FENCE_LINE.match(line)
    if not match:
        return _glued(number, line)
    quotes, in_item, column = _place(match[1])
    return FenceLine(number, quotes, in_item, column, match[2][0], len(match[2]), match[3].strip())


def _glued(number: int, line: str) -> FenceLine | None:
    runs = list(_BACKTICKS.finditer(line))
    prefix = _PREFIX.match(line)
    if not runs or not prefix:
        return None
    quotes, in_item, column = _place(prefix[0])
    first, last = runs[0], runs[-1]
    after = line[last.end() :].strip()
    mark = FenceLine(number, quotes, in_item, column, "`", len(last[0]), after, line[prefix.end() : last.start()])
    if len(runs) == 2 and first.start() == prefix.end() and not after and len(first[0]) == len(last[0]):  # noqa: PLR2004 - an opening and a closing run
        return mark._replace(before="", inner=line[first.end() : last.start()].strip())
    # An even number of runs are code spans; a backslash makes a backtick an ordinary character.
    is_text = len(runs) % 2 == 0 or mark.before.endswith("\\") or _LEADER.match(mark.before)
    return mark if _WORD.match(after) and not is_text else None


def _place(prefix: str) -> tuple[int, bool, int]:
    """How many quotes, whether an item begins after them, and the column of what follows, counted from there."""
    if not prefix:
        return 0, False, 0
    flat = prefix.expandtabs(_TAB)
    after_quotes = flat.rfind(">") + 1
    column = len(flat) - after_quotes - (1 if after_quotes else 0)
    return flat.count(">"), bool(flat[after_quotes:].strip()), max(0, column)


def _column(prefix: str) -> int:
    return len(prefix.expandtabs(_TAB)) if "\t" in prefix else len(prefix)
