"""Digests by which the outputs of two candidates are held against each other after both sandboxes are gone.

Two scripts that do the same job seldom write the same bytes: one ends lines as Windows does, another writes 7.50 for
7.5, a third adds the same floats in another order. So a text has two digests, of its bytes and of what it reads as. Of
what is no text, a picture or a workbook, other bytes may mean the same, and nothing but equal bytes says anything.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from flyteplugins_codegen.store import digest

_CHUNK_BYTES: Final = 1 << 20
_LONGEST_TEXT_BYTES: Final = 16 << 20
_LONGEST_NUMBERS_BYTES: Final = 1 << 18
"""In a longer text decimals stay as they are: to read them all would be felt by every run."""
_SIGNIFICANT_DIGITS: Final = 12
# A decimal or a power of ten that stands by itself: no part of a name, of a version or of a date.
_DECIMAL: Final = re.compile(r"(?<![\w.])(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?(?![\w.])")


def file_digests(path: Path, size_bytes: int) -> dict[str, str]:
    """`sha256` of a file's bytes and, for a text of up to 16 MiB, `text_sha256` of what it reads as."""
    if size_bytes > _LONGEST_TEXT_BYTES:
        return {"sha256": _sha256_of(path)}
    data = path.read_bytes()
    exact = {"sha256": hashlib.sha256(data).hexdigest()}
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return exact
    return exact if "\0" in text else {**exact, "text_sha256": hashlib.sha256(plain_text(text).encode()).hexdigest()}


def folder_digests(files: Mapping[str, Path]) -> dict[str, str]:
    """As of a file, over the names and contents of all files; `text_sha256` where each of them is a text."""
    each = {name: file_digests(path, path.stat().st_size) for name, path in sorted(files.items())}
    kinds = ["sha256", "text_sha256"] if all("text_sha256" in digests for digests in each.values()) else ["sha256"]
    return {kind: digest({name: digests[kind] for name, digests in each.items()}) for kind in kinds}


def plain_text(text: str) -> str:
    """The text with one kind of line end, none at its end, and decimals of 12 significant digits: 7.50 is 7.5."""
    lines = text.replace("\r\n", "\n").rstrip("\n")
    if len(lines) > _LONGEST_NUMBERS_BYTES:
        return lines
    return _DECIMAL.sub(lambda found: format(float(found[0]), f".{_SIGNIFICANT_DIGITS}g"), lines)


def _sha256_of(path: Path) -> str:
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            sha.update(chunk)
    return sha.hexdigest()
