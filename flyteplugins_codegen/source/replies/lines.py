"""Lines and their indentation as CommonMark counts them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TAB = 4
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")


def split_lines(text: str) -> list[str]:
    """The lines of a text; only LF, CRLF and CR end one."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def columns(prefix: str) -> int:
    """How far a prefix of a line reaches, tabs in it being stops of four columns."""
    return len(prefix.expandtabs(_TAB)) if "\t" in prefix else len(prefix)


def indentation(line: str) -> int:
    """The columns of blanks that a line begins with."""
    return columns(line[: len(line) - len(line.lstrip(" \t"))])


def item_width(line: str) -> int:
    """How far the content of a list item is moved in, if a line begins one; else 0."""
    item = _ITEM.match(line)
    return columns(item[0]) if item else 0


def is_in_item(lines: Sequence[str], number: int, column: int) -> bool:
    """Whether a line at a column belongs to a list item, by the line over it or the one over a blank line."""
    above = next((line for line in reversed(lines[max(0, number - 2) : number]) if line.strip()), "")
    is_fence = above.lstrip(" \t").startswith(("```", "~~~"))
    return not is_fence and 0 < column <= max(item_width(above), indentation(above))


def without_containers(line: str, quotes: int, column: int) -> str | None:
    """A line without its quote marks and up to as many columns of blanks; None if it is not that deep in quotes."""
    start = 0
    for _ in range(quotes):
        start = line.find(">", start) + 1
        if start == 0 or line[:start].strip("> \t"):
            return None
    end, at = columns(line[:start]), start
    wanted = end + column + (1 if quotes else 0)
    while at < len(line) and end < wanted and line[at] in " \t":
        end += 1 if line[at] == " " else _TAB - end % _TAB
        at += 1
    return " " * (end - wanted) + line[at:]
