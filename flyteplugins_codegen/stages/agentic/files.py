"""The agent's files: values in memory, bounded, laid into a sandbox for each run and never written on the host."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from flyteplugins_codegen.source.edits import apply_edits

SAMPLES: Final = "samples/"
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\Z")
_MOST_FILES: Final = 40
# They travel round the loop with the run, of which a cluster takes 2 MB.
_FILE_BYTES: Final = 48 << 10
_TOTAL_BYTES: Final = 128 << 10


class ToolError(ValueError):
    """What a tool answers to a call that it cannot carry out. Said to the model; ends nothing."""


def with_file(files: Mapping[str, str], name: str, text: str) -> dict[str, str]:
    """The files with this one as given. Raises ToolError for a name or a size that is not possible."""
    _check_name(name)
    size = _size(text)
    if size > _FILE_BYTES:
        raise ToolError(f"{name} would have {size:,} bytes, and a file may have {_FILE_BYTES:,}; write less")
    changed = {**files, name: text}
    if len(changed) > _MOST_FILES:
        raise ToolError(f"there are {len(files)} files already, and {_MOST_FILES} are the most; write over one of them")
    if sum(map(_size, changed.values())) > _TOTAL_BYTES:
        raise ToolError(f"all files together may have {_TOTAL_BYTES:,} bytes; shorten one of them")
    return changed


def with_edit(files: Mapping[str, str], name: str, search: str, replace: str) -> dict[str, str]:
    """The files with one change of one of them. Raises ToolError where it does not apply at exactly one place."""
    try:
        changed = apply_edits(file_text(files, name), [(search, replace)])
    except ToolError:
        raise
    except ValueError as error:
        raise ToolError(f"{name} was left as it is: {error}") from error
    return with_file(files, name, changed)


def file_text(files: Mapping[str, str], name: str) -> str:
    """The text of a file. Raises ToolError where there is none of this name."""
    if name not in files:
        raise ToolError(f"there is no file {name[:100]!r}; there are {', '.join(sorted(files)) or 'none'}")
    return files[name]


def _check_name(name: str) -> None:
    if name.startswith(SAMPLES):
        raise ToolError(f"{name[:100]!r}: the samples can only be read; choose another name")
    if not _NAME.match(name):
        raise ToolError(
            f"{name[:100]!r} is no file name here: letters, digits, '_', '-' and '.', no folder, no '.' in front, "
            "at most 100 characters"
        )


def _size(text: str) -> int:
    """Its bytes as a file. Raises ToolError for a text that no file of ours can hold."""
    if "\0" in text:
        raise ToolError("the text holds a NUL character; write it as \\0 in the source")
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise ToolError(f"the text holds half a character at position {error.start}; leave it out") from error
