"""Digests by which the outputs of two candidates are held against each other after both sandboxes are gone.

Two scripts that do the same job seldom write the same bytes: one ends lines as Windows does, another writes 7.50 for
7.5, a third adds the same floats in another order. So a text has two digests, of its bytes and of what it reads as.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_CHUNK_BYTES: Final = 1 << 20
_LONGEST_TEXT_BYTES: Final = 1 << 18
"""Of a longer file only the bytes are compared: reading it anew would be felt by every run."""
_SIGNIFICANT_DIGITS: Final = 12
# A decimal or a power of ten that stands by itself: no part of a name, of a version or of a date.
_DECIMAL: Final = re.compile(r"(?<![\w.])(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?(?![\w.])")


def file_digests(path: Path, size_bytes: int) -> dict[str, str]:
    """`sha256` of a file's bytes and, for a text of up to 256 KiB, `text_sha256` of what it reads as."""
    if size_bytes > _LONGEST_TEXT_BYTES:
        return {"sha256": _sha256_of(path)}
    data = path.read_bytes()
    exact = {"sha256": hashlib.sha256(data).hexdigest()}
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return exact
    return exact if "\0" in text else {**exact, "text_sha256": hashlib.sha256(plain_text(text).encode()).hexdigest()}


def folder_digest(files: Mapping[str, Path]) -> str:
    """One SHA-256 over the names of a folder's files and what each reads as, or its bytes where it is no text."""
    whole = hashlib.sha256()
    for name, path in sorted(files.items()):
        digests = file_digests(path, path.stat().st_size)
        whole.update(f"{len(name)} {name} {digests.get('text_sha256', digests['sha256'])}\n".encode("utf-8", "replace"))
    return whole.hexdigest()


def plain_text(text: str) -> str:
    """The text with one kind of line end, none at its end, and decimals of 12 significant digits: 7.50 is 7.5."""
    lines = text.replace("\r\n", "\n").rstrip("\n")
    return _DECIMAL.sub(lambda found: format(float(found[0]), f".{_SIGNIFICANT_DIGITS}g"), lines)


def _sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
