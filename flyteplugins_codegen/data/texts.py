"""Long text, shortened with a mark."""

from __future__ import annotations

import re

_MARK = re.compile(r"…\(\+(\d+) characters\)\Z")
_MARK_CHARACTERS = 18


def shorten(text: str, limit: int) -> str:
    """The text, or its beginning with a mark that says how many characters are left out; about `limit` characters.

    Text that was shortened before keeps a true count.
    """
    if len(text) <= limit:
        return text
    marked = _MARK.search(text)
    whole = marked.start() + int(marked.group(1)) if marked else len(text)
    kept = max(1, limit - _MARK_CHARACTERS)
    return f"{text[:kept]}…(+{whole - kept} characters)"


def one_line(text: str) -> str:
    """The text without anything that breaks a line or cannot be seen."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def cell(text: str, limit: int) -> str:
    """The text as a cell of a table between bars, shortened with a mark."""
    return shorten(one_line(text), limit).replace("|", "\\|")


def token_cost(text: str) -> int:
    """What the text costs, in thirds of a token: data has about three characters to a token, other scripts one."""
    return len(text) if text.isascii() else len(text) + 2 * sum(not character.isascii() for character in text)
