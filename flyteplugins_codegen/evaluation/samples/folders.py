"""Samples as files: `<task id>/<number>.py`, as evalplus writes them; a `/` of an id is a `_`, or a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.evaluation.json_lines import Record
from flyteplugins_codegen.models.lengths import LONGEST_SOURCE_CHARS
from flyteplugins_codegen.source.language_names import language_of_file

_NOT_CODE: Final = frozenset(("", "json", "markdown", "text", "yaml", "toml", "csv"))
_UTF8_BYTES: Final = 4


def read_folder(folder: Path) -> Iterator[Record]:
    """Each file of code as a record with a whole `solution`, in the order of the names, numbers by their value."""
    for path in sorted(folder.rglob("*"), key=lambda path: _natural(path.relative_to(folder).as_posix())):
        relative = path.relative_to(folder)
        hidden = any(part.startswith((".", "__pycache__")) for part in relative.parts)
        if not hidden and len(relative.parts) > 1 and path.is_file() and language_of_file(path.name) not in _NOT_CODE:
            fields = {"task_id": relative.parent.as_posix(), "solution": _text(path)}
            yield Record(fields, str(path), line=0)


def _text(path: Path) -> str:
    with path.open("rb") as file:  # no more than what is seen to be too long
        return file.read(LONGEST_SOURCE_CHARS * _UTF8_BYTES + 1).decode(errors="surrogateescape")


def _natural(name: str) -> list[Any]:
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name)]
