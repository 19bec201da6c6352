"""Reads files of JSON records, one a line or all in one array, gzipped or not; each record knows its place."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, cast

from flyteplugins_codegen.errors import RequestError

_GZIP: Final = b"\x1f\x8b"
_LONGEST_LINE_MIB: Final = 256
_BOM: Final = b"\xef\xbb\xbf"
_SHOWN_CHARS: Final = 80
# Stands for the last line of a truncated compressed file, whose text cannot be unpacked.
_LOST: Final = b"{"


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object and its place: `samples.jsonl:3`, or `problems.json: item 3` in an array."""

    fields: dict[str, Any]
    place: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class _Line:
    """`is_whole` is False for a line without an end, the last one of a file whose writer was killed."""

    number: int
    text: bytes
    is_whole: bool


def read_records(path: Path, *, on_cut: Callable[[str], None] | None = None) -> Iterator[Record]:
    """Read the records of a file, lazily if it has one a line; blank lines do not count.

    If the file ends in the middle of a record because its writer was killed, `on_cut` is called with a message; without
    `on_cut` that is an error.

    Raises:
        RequestError: the file cannot be read, or a line is not a JSON object; with file and line.
    """
    if _first_byte(path) == b"[":
        yield from _array(path)
        return
    for line in _lines(path):
        try:
            fields = json.loads(line.text)
        except (ValueError, RecursionError) as error:
            if line.is_whole or on_cut is None:
                raise RequestError(f"{path}:{line.number}: {_error_text(error, line)}") from None
            on_cut(f"{path}:{line.number}: the file ends in the middle of a line, which is left out")
            return
        yield Record(_object(fields, f"{path}:{line.number}"), f"{path}:{line.number}", line.number)


def _lines(path: Path) -> Iterator[_Line]:
    limit = _LONGEST_LINE_MIB << 20
    with _opened(path) as file:
        number, is_cut = 0, False
        while not is_cut:
            text, is_cut = _next_line(file, limit)
            number += 1
            if len(text) > limit:
                message = f"the line is longer than {_LONGEST_LINE_MIB} MiB; is it JSON Lines, one record a line?"
                raise RequestError(f"{path}:{number}: {message}")
            text = text.removeprefix(_BOM) if number == 1 else text
            is_whole = text.endswith(b"\n")
            # After a power failure, a file system may leave zeros in place of the last bytes.
            if text.strip(b" \t\r\n\0" if not is_whole else b" \t\r\n"):
                yield _Line(number, text, is_whole)
            is_cut = is_cut or not is_whole


def _next_line(file: IO[bytes], limit: int) -> tuple[bytes, bool]:
    """The next line, and whether it is the last one; a truncated compressed stream ends with `_LOST`."""
    try:
        text = file.readline(limit + 1)
    except (EOFError, zlib.error):
        return _LOST, True
    return text, not text


def _array(path: Path) -> Iterator[Record]:
    with _opened(path) as file:
        try:
            items = json.loads(file.read().removeprefix(_BOM))
        except (ValueError, RecursionError, EOFError, zlib.error) as error:
            raise RequestError(f"{path}: begins as a JSON array, and is none: {error}") from None
    for number, item in enumerate(items, 1):
        place = f"{path}: item {number}"
        yield Record(_object(item, place), place)


def _object(fields: Any, place: str) -> dict[str, Any]:
    if not isinstance(fields, dict):
        raise RequestError(f"{place}: a record is a JSON object, {{...}}; here is {json.dumps(fields)[:_SHOWN_CHARS]}")
    return fields


def _error_text(error: Exception, line: _Line) -> str:
    start = line.text[:_SHOWN_CHARS].decode(errors="replace").rstrip()
    if not line.is_whole:
        return f"the file ends in the middle of a line, {start!r}; is it all there?"
    return f"no JSON: {error}; the line begins {start!r}"


def _first_byte(path: Path) -> bytes:
    with _opened(path) as file:
        try:
            return file.read(4096).removeprefix(_BOM).lstrip()[:1]
        except (EOFError, zlib.error):
            return b""


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked if they begin as gzip does, whatever its name. Raises RequestError."""
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == _GZIP
        with path.open("rb") as file:
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if is_packed else file
    except (OSError, gzip.BadGzipFile) as error:
        raise RequestError(f"{path} cannot be read: {error}") from None
