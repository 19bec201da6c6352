"""Regular expressions in constraints: as they are written in a sentence, and whether they end in time."""

from __future__ import annotations

import re

from flyteplugins_codegen.data.constraints.subjects import NotApplicableError

_SIGNS = re.compile(r"[\\\[\](){}^$*+|]")
# `(a+)+` and the like: exponential time on text that does not match.
_NESTED_REPEATS = re.compile(r"\((?:[^()\\]|\\.)*(?:[*+]|\{\d+,\d*\})(?:[^()\\]|\\.)*\)(?:[*+]|\{\d+,\d*\})")


def read_pattern(written: str) -> str | None:
    """The regular expression, quoted or with its signs; None for words. Raises as `checked_pattern`."""
    quoted = re.fullmatch(r"(?:r?\"(.+)\"|r?'(.+)'|`(.+)`|/(.+)/)", written)
    if quoted is not None:
        return checked_pattern(next(group for group in quoted.groups() if group))
    is_plain = re.search(r"\s", written) or not _SIGNS.search(written)
    return None if is_plain else checked_pattern(written)


def checked_pattern(pattern: str) -> str:
    """The regular expression, if it is one that ends in time. Raises NotApplicableError."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise NotApplicableError(f"{pattern!r} is no regular expression: {error}") from None
    if _NESTED_REPEATS.search(pattern):
        raise NotApplicableError(f"{pattern!r} repeats a repetition, which may take for ever; write it without")
    return pattern
