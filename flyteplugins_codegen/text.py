"""Failures as short texts that read the same at every run and on every machine.

A repair call carries such texts, and a recording is matched by the call: an address, a temporary folder or a duration
in one of them would make each run a different one.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST_SOURCE_CHARS: Final = 1_000_000
"""The longest program, test module or prompt that is read in our own process: Python's parser takes up to 600 bytes and
10 µs for each character. No solution is longer, and no model takes more.
"""

_LONGEST: Final = 2_000
# From the start of a token only: tried from each of its characters, a long one would take its square in time.
_UP_TO_A_SLASH: Final = r"(?<![^\s'\"(])[^\s'\"(]*"
_VOLATILE: Final = (
    (re.compile(r"\b0x(?:[0-9a-fA-F]{6,16}\b|[0-9a-fA-F]*\.\.\.)"), "0x..."),  # pytest cuts its summary's lines
    (re.compile(r"/tmp/pytest-of-[^/\s'\"]+/pytest-\d+"), "/tmp/tests"),  # noqa: S108  -- text, never a path of ours
    (re.compile(_UP_TO_A_SLASH + r"/tests-[a-z0-9_]{8}/t(?=[/\s'\")]|$)"), "/tmp/tests"),  # noqa: S108  -- the same
    (re.compile(r"/tmp/tmp[a-z0-9_]{8}"), "/tmp/tmp..."),  # noqa: S108  -- the same
    (re.compile(_UP_TO_A_SLASH + r"/((?:test_)?solution\.py|launcher\.py|runner\.py)\b"), r"/app/\1"),
    (re.compile(_UP_TO_A_SLASH + r"/(?:site|dist)-packages/"), ".../site-packages/"),
    (re.compile(_UP_TO_A_SLASH + r"/lib/python3\.\d+/"), ".../lib/python3/"),
    (re.compile(r"(?<![ \t])[ \t]+$", re.MULTILINE), ""),
    (re.compile(r"\bin \d+\.\d+s\b( \(\d+:\d\d:\d\d\))?"), "in ...s"),
)


def normalize_volatile(text: str) -> str:
    """The text without what differs from run to run: addresses, temporary folders, install paths, durations."""
    for pattern, replacement in _VOLATILE:
        text = pattern.sub(replacement, text)
    return text


def shorten_middle(text: str, limit: int = _LONGEST) -> str:
    """At most `limit` characters: the beginning, and the end, where the reason of a long failure mostly stands."""
    if len(text) <= limit:
        return text
    mark = "\n[...]\n"
    head = (limit - len(mark)) * 2 // 3
    return text[:head] + mark + text[len(text) - (limit - len(mark) - head) :]


def failure_text(text: str, limit: int = _LONGEST) -> str:
    """Steady first, then shortened: a cut through an address could no longer be told."""
    return shorten_middle(normalize_volatile(text).strip(), limit)


def decoded(stream: bytes, cut_bytes: int, limit: int = 2 * _LONGEST) -> str:
    """A stream of a program as text: steady, shortened, and saying so where the sandbox had to drop some of it."""
    said = failure_text(stream.decode(errors="replace"), limit)
    return f"{said}\n[{cut_bytes} more bytes were dropped]" if cut_bytes else said


# Long text, shortened with a mark.

_MARK = re.compile(r"…\(\+(\d+) characters\)\Z")
_MARK_CHARACTERS = 18


def shorten_end(text: str, limit: int) -> str:
    """The text, or its beginning with a mark that says how many characters are left out; about `limit` characters.

    Text that was shortened before keeps a true count.
    """
    if len(text) <= limit:
        return text
    marked = _MARK.search(text)
    whole = marked.start() + int(marked.group(1)) if marked else len(text)
    kept = max(1, limit - _MARK_CHARACTERS)
    return f"{text[:kept]}…(+{whole - kept} characters)"


def short_repr(value: object, limit: int) -> str:
    """A value as Python writes it, for a model or a person to read: its beginning where it is longer than `limit`."""
    return shorten_end(repr(value), limit)


def one_line(text: str) -> str:
    """The text without anything that breaks a line or cannot be seen."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def cell(text: str, limit: int) -> str:
    """The text as a cell of a table between bars, shortened with a mark."""
    return shorten_end(one_line(text), limit).replace("|", "\\|")


def token_cost(text: str) -> int:
    """What the text costs, in thirds of a token: data has about three characters to a token, other scripts one."""
    return len(text) if text.isascii() else len(text) + 2 * sum(not character.isascii() for character in text)
