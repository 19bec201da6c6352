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
