"""Whether a line lies within a string that spans lines, so that a fence in it is text of the program."""

from __future__ import annotations

import re

_PYTHON_TOKEN = re.compile(r"""#.*|\"{3}|'{3}|"[^"\\]*(?:\\.[^"\\]*)*"?|'[^'\\]*(?:\\.[^'\\]*)*'?""")
_HEREDOC = re.compile(r"""(?<!<)<<-?[ \t]*(['"]?)([A-Za-z_]\w*)\1""")
_TRIPLE = ('"""', "'''")
PYTHON = frozenset({"python", ""})
SHELLS = frozenset({"sh", "bash"})


def open_literal(language: str, line: str, literal: str) -> str:
    """What ends the literal that is open after the line; "" if none is. `literal` is the same for before the line.

    Known are Python's triple quotes (for text without a language too) and the here-documents of shells.
    """
    if language in PYTHON:
        return _open_triple_quote(line, literal) if '"""' in line or "'''" in line else literal
    if language not in SHELLS:
        return ""
    if literal:
        return "" if line.strip() == literal else literal
    opened = _HEREDOC.search(line)
    return opened[2] if opened else ""


def _open_triple_quote(line: str, literal: str) -> str:
    at = 0
    while at < len(line):
        if literal:
            end = line.find(literal, at)
            if end < 0:
                return literal
            at, literal = end + len(literal), ""
        else:
            token = _PYTHON_TOKEN.search(line, at)
            if not token:
                return ""
            at, literal = token.end(), token[0] if token[0] in _TRIPLE else ""
    return literal
