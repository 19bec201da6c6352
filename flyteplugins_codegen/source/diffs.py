"""What changed in a file, as a unified diff that `git apply` and `patch -p1` take."""

from __future__ import annotations

import difflib

_NO_NEWLINE = "\\ No newline at end of file\n"


def unified_diff(old: str, new: str, name: str) -> str:
    """The diff of a file of this name, relative and with slashes; "" where nothing changed."""
    # Not `splitlines`: a form feed or a line separator of Unicode's ends no line of a diff.
    lines = difflib.unified_diff(_lines(old), _lines(new), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
