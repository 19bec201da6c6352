"""Texts that a caller gives, checked before anything is sent or spent."""

from __future__ import annotations

from typing import Any

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.models.lengths import LONGEST_SOURCE_CHARS


def require_text(what: str, value: Any, remedy: str) -> str:
    """The value, a text that can be sent to a model.

    Raises ArgumentTypeError where it is no str; RequestError where it is empty, too long, or no text in UTF-8.
    """
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{what} is {type(value).__name__}; {remedy}")
    flaw = _flaw(value)
    if flaw:
        raise RequestError(f"{what} {flaw}; {remedy}")
    return value


def require_texts(what: str, value: Any, remedy: str) -> tuple[str, ...]:
    """The value, a list of texts. Raises ArgumentTypeError for anything else."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
        raise ArgumentTypeError(f"{what} is {value!r:.100}; {remedy}")
    return tuple(value)


def _flaw(text: str) -> str:
    if not text.strip():
        return "is empty"
    if len(text) > LONGEST_SOURCE_CHARS:
        return f"has {len(text):,} characters, more than {LONGEST_SOURCE_CHARS:,}"
    if "\0" in text:
        return f"holds a NUL character at position {text.index(chr(0))}"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"holds half a character (a lone surrogate, {text[error.start]!r}) at position {error.start}"
    return ""
