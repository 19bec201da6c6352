"""Whether a text is Python."""

from __future__ import annotations

from flyteplugins_codegen.models.lengths import LONGEST_SOURCE_CHARS
from flyteplugins_codegen.parsing import parse_python


def is_python(text: str) -> bool:
    """Whether the text is Python as it stands. More than a million characters are not looked at: False."""
    if len(text) > LONGEST_SOURCE_CHARS:
        return False
    try:
        parse_python(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
