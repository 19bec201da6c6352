"""Checks of callers' arguments that several functions share; each returns the value in the form that they use."""

from __future__ import annotations

import math
import os
import stat
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.text import LONGEST_SOURCE_CHARS

DEFAULT_TIMEOUT_S: Final = 600.0
_MAX_PATH_CHARS: Final = 100


def require_text(what: str, value: Any, remedy: str) -> str:
    """Return the value, a text that can be sent to a model.

    Raises ArgumentTypeError where it is no str; RequestError where it is empty, too long, or not valid in UTF-8.
    """
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{what} is {type(value).__name__}; {remedy}")
    flaw = _text_flaw(value)
    if flaw:
        raise RequestError(f"{what} {flaw}; {remedy}")
    return value


def require_texts(what: str, value: Any, remedy: str) -> tuple[str, ...]:
    """Return the value, a list of texts, as a tuple. Raises ArgumentTypeError for anything else."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
        raise ArgumentTypeError(f"{what} is {value!r:.100}; {remedy}")
    return tuple(value)


def _text_flaw(text: str) -> str:
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


def read_timeout(timeout: float | None) -> float:
    """Return the timeout in seconds, by default 600. Raises ArgumentTypeError, RequestError."""
    if timeout is None:
        return DEFAULT_TIMEOUT_S
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise ArgumentTypeError(f"timeout is {type(timeout).__name__}; pass seconds as a number")
    if not (timeout > 0 and math.isfinite(timeout)):
        raise RequestError(f"timeout={timeout!r} is no time to run in; pass seconds above 0")
    return float(timeout)


def read_folder(value: Any, name: str) -> Path:
    """Return the absolute path of a folder, which need not exist. `name` is the name of the argument.

    Raises ArgumentTypeError where the value is no path, RequestError where the path cannot be that of a folder.
    """
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentTypeError(f"{name} is {type(value).__name__}; pass the path of a folder")
    argument = f"{name}={str(value)[:_MAX_PATH_CHARS]!a}"
    if not str(value):
        raise RequestError(f"{argument} is no path; pass that of a folder")
    folder = Path(value).absolute()
    try:
        is_file = not stat.S_ISDIR(folder.stat().st_mode)
    except FileNotFoundError:
        is_file = False
    except (OSError, ValueError) as error:  # ValueError for NUL bytes and lone surrogates
        reason = error.strerror if isinstance(error, OSError) else error
        raise RequestError(f"{argument} is no path: {reason}; pass that of a folder") from None
    if is_file:
        raise RequestError(f"{argument} is a file; pass the path of a folder, or of none that is there yet")
    return folder
