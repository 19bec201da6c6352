"""Whether a text is Python."""

from __future__ import annotations

import ast

# The parser needs about a hundred times the text's size in memory.
_LONGEST = 1_000_000


def is_python(text: str) -> bool:
    """Whether the text is Python as it stands. More than a million characters are not looked at: False."""
    if len(text) > _LONGEST:
        return False
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
