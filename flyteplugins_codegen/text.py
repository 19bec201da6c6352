"""Short, stable texts: shortened values, and failures that read the same in every run and on every machine.

Failures are sent to a model, and recordings are matched by what is sent: an address, a temporary folder or a duration
would make every run different.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST_SOURCE_CHARS: Final = 1_000_000
"""The longest program, test module or prompt that is parsed in this process: Python's parser needs up to 600 bytes and
10 µs for each character. No real solution is longer, and no model accepts more.
"""

_DEFAULT_LIMIT: Final = 2_000
_LEFT_OUT: Final = re.compile(r"…\(\+(\d+) characters\)\Z")
_LEFT_OUT_CHARS: Final = 18
# Matches only at the start of a token: tried at each of its characters, a long token would take quadratic time.
_UP_TO_A_SLASH: Final = r"(?<![^\s'\"(])[^\s'\"(]*"
_VOLATILE: Final = (
    (re.compile(r"\b0x(?:[0-9a-fA-F]{6,16}\b|[0-9a-fA-F]*\.\.\.)"), "0x..."),  # pytest cuts off lines of its summary
    (re.compile(r"/tmp/pytest-of-[^/\s'\"]+/pytest-\d+"), "/tmp/tests"),  # noqa: S108  -- matched text, not a path that is used
    (re.compile(_UP_TO_A_SLASH + r"/tests-[a-z0-9_]{8}/t(?=[/\s'\")]|$)"), "/tmp/tests"),  # noqa: S108  -- the same
    (re.compile(r"/tmp/tmp[a-z0-9_]{8}"), "/tmp/tmp..."),  # noqa: S108  -- the same
    (re.compile(_UP_TO_A_SLASH + r"/((?:test_)?solution\.py|launcher\.py|runner\.py)\b"), r"/app/\1"),
    (re.compile(_UP_TO_A_SLASH + r"/(?:site|dist)-packages/"), ".../site-packages/"),
    (re.compile(_UP_TO_A_SLASH + r"/lib/python3\.\d+/"), ".../lib/python3/"),
    (re.compile(r"(?<![ \t])[ \t]+$", re.MULTILINE), ""),
    (re.compile(r"\bin \d+\.\d+s\b( \(\d+:\d\d:\d\d\))?"), "in ...s"),
)


def normalize_volatile(text: str) -> str:
    """The text without parts that differ between runs: addresses, temporary folders, install paths, durations."""
    for pattern, replacement in _VOLATILE:
        text = pattern.sub(replacement, text)
    return text


def shorten_middle(text: str, limit: int = _DEFAULT_LIMIT) -> str:
    """At most `limit` characters: the beginning and the end of the text, where the reason of a failure usually is."""
    if len(text) <= limit:
        return text
    gap = "\n[...]\n"
    head = (limit - len(gap)) * 2 // 3
    return text[:head] + gap + text[len(text) - (limit - len(gap) - head) :]


def failure_text(text: str, limit: int = _DEFAULT_LIMIT) -> str:
    """The text normalised and then shortened, in this order, because half an address would not be recognised."""
    return shorten_middle(normalize_volatile(text).strip(), limit)


def decoded(stream: bytes, cut_bytes: int, limit: int = 2 * _DEFAULT_LIMIT) -> str:
    """The output of a program as normalised and shortened text, with the number of bytes that the sandbox dropped."""
    text = failure_text(stream.decode(errors="replace"), limit)
    return f"{text}\n[{cut_bytes} more bytes were dropped]" if cut_bytes else text


def shorten_end(text: str, limit: int) -> str:
    """The text, or about `limit` characters of its beginning with the number of characters left out.

    The number is right for text that was shortened before, too.
    """
    if len(text) <= limit:
        return text
    shortened = _LEFT_OUT.search(text)
    total = shortened.start() + int(shortened[1]) if shortened else len(text)
    kept = max(1, limit - _LEFT_OUT_CHARS)
    return f"{text[:kept]}…(+{total - kept} characters)"


def short_repr(value: object, limit: int = 300) -> str:
    """The `repr` of a value, shortened to about `limit` characters: how every message to a model shows a value."""
    try:
        text = repr(value)
    except ValueError:  # an integer of too many digits
        return f"a {type(value).__name__} with a number of more digits than Python writes"
    return shorten_end(text, limit)


def one_line(text: str) -> str:
    """The text with line breaks and all other non-printable characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def cell(text: str, limit: int) -> str:
    """The text as a cell of a Markdown table: on one line, shortened, with bars escaped."""
    return shorten_end(one_line(text), limit).replace("|", "\\|")


def token_cost(text: str) -> int:
    """An estimate of the text's tokens, in thirds: a token has about three ASCII characters, or one other."""
    return len(text) if text.isascii() else len(text) + 2 * sum(not character.isascii() for character in text)
