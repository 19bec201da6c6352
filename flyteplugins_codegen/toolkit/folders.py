"""A caller's folder, checked before anything is made in it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError

_SHOWN_CHARS = 100


def read_folder(given: Any, name: str) -> Path:
    """The folder by its absolute path; it need not be there yet. `name` is what the argument is called.

    Raises ArgumentTypeError for what is no path, RequestError for a path that cannot be that of a folder.
    """
    if not isinstance(given, (str, os.PathLike)):
        raise ArgumentTypeError(f"{name} is {type(given).__name__}; pass the path of a folder")
    shown = f"{name}={str(given)[:_SHOWN_CHARS]!a}"
    if not str(given):
        raise RequestError(f"{shown} is no path; pass that of a folder")
    folder = Path(given).absolute()
    try:
        is_other = not stat.S_ISDIR(folder.stat().st_mode)
    except FileNotFoundError:
        is_other = False
    except (OSError, ValueError) as error:  # the latter of NUL bytes and lone surrogates
        reason = error.strerror if isinstance(error, OSError) else error
        raise RequestError(f"{shown} is no path: {reason}; pass that of a folder") from None
    if is_other:
        raise RequestError(f"{shown} is a file; pass the path of a folder, or of none that is there yet")
    return folder
