"""Whether a program printed what it was to print."""

from __future__ import annotations

import math
from typing import Final

_SHOWN_CHARS: Final = 120


def printed_difference(printed: str, expected: str, tolerance: float) -> str:
    """What the first line that differs is and should be; "" where none does.

    White space at the ends of lines, and empty lines at the end, do not count; numbers may differ by the tolerance.
    """
    found, wanted = _lines(printed), _lines(expected)
    for number in range(max(len(found), len(wanted))):
        one = found[number] if number < len(found) else None
        other = wanted[number] if number < len(wanted) else None
        if one is None or other is None or not _is_like(one, other, tolerance):
            return f"line {number + 1} is {_shown(one)}, expected {_shown(other)}"
    return ""


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def _shown(line: str | None) -> str:
    return "missing" if line is None else repr(line[:_SHOWN_CHARS])


def _is_like(found: str, expected: str, tolerance: float) -> bool:
    if found == expected:
        return True
    words, wanted = found.split(), expected.split()
    alike = (_is_close(*pair, tolerance) for pair in zip(words, wanted, strict=False))
    return tolerance > 0 and len(words) == len(wanted) and all(alike)


def _is_close(found: str, expected: str, tolerance: float) -> bool:
    try:
        return math.isclose(float(found), float(expected), rel_tol=tolerance, abs_tol=tolerance)
    except ValueError:
        return found == expected
