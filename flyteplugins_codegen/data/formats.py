"""What a sample file is: what its name claims, held against what its first bytes say."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flyteplugins_codegen.data.files import check_readable, unreadable
from flyteplugins_codegen.errors import SampleError
from flyteplugins_codegen.models.data import SampleFormat

# How delimited text is delimited, told from its beginning.

DELIMITERS = (",", ";", "\t", "|", "^", "~", "\x01")
_ROWS_LOOKED_AT = 100
_MOST_NAME_CHARACTERS = 64


@dataclass(frozen=True)
class Dialect:
    """How text is delimited. `escape` stands before a quote within a text where quotes are not doubled.

    `comment_lines` come before the header, each beginning with `#`.
    """

    delimiter: str
    quote: str = '"'
    escape: str | None = None
    comment_lines: int = 0


def sniff_dialect(head: str, suffix: str = ".csv") -> Dialect:
    """The dialect of text that begins like this: the delimiter that splits its rows as it splits its header.

    Where none does (a single column), the one that the file's extension stands for.
    """
    comment_lines = _comment_lines(head)
    body = head.split("\n", comment_lines)[-1]
    usual = {".tsv": "\t", ".tab": "\t", ".psv": "|"}.get(suffix, ",")
    delimiters = [usual, *(delimiter for delimiter in DELIMITERS if delimiter != usual)]
    quote, escape = _quoting(body)
    dialects = [Dialect(delimiter, quote, escape) for delimiter in delimiters]
    # `max` keeps the first of equals, so that a tie goes to the usual one.
    best = max(dialects, key=lambda dialect: _agreement(first_rows(body, dialect)))
    delimiter = best.delimiter if _agreement(first_rows(body, best))[0] > 0 else usual
    return Dialect(delimiter, quote, escape, comment_lines)


def _comment_lines(head: str) -> int:
    """How many lines of comment come before the header: `#` alone, or `#` and a blank."""
    lines = head.lstrip("\ufeff").split("\n")
    count = 0
    while count < len(lines) - 1 and re.match(r"#(?:\s|$)", lines[count]):
        count += 1
    return count


def _quoting(body: str) -> tuple[str, str | None]:
    """The quote, and the character that stands before quotes within a text, if any does."""
    if '\\"' in body and re.search(r'(?:^|[,;\t|])"', body, re.MULTILINE):
        return '"', "\\"
    quoted = re.findall(r"(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|\r\n]|$)", body, re.MULTILINE)
    return ("'", None) if '"' not in body and len(quoted) > 1 else ('"', None)


def looks_like_table(head: str) -> bool:
    """Whether text without a telling name is delimited: names in its first row, as many fields in all others."""
    rows = first_rows(head, sniff_dialect(head))
    if len(rows) <= 1 or _agreement(rows)[0] < 1.0:
        return False
    names = rows[0]
    return len(set(names)) == len(names) and all(
        field and field == field.strip() and len(field) <= _MOST_NAME_CHARACTERS for field in names
    )


def first_rows(head: str, dialect: Dialect) -> list[list[str]]:
    """The rows that the text begins with, blank lines left out; a last line without its end is left out if others are.

    Never raises: text that is no CSV gives the rows before the fault.
    """
    body = head.split("\n", dialect.comment_lines)[-1]
    whole = body[: body.rfind("\n") + 1] or body
    rows: list[list[str]] = []
    try:
        for row in _reader(whole, dialect):
            if row:
                rows.append(row)
            if len(rows) == _ROWS_LOOKED_AT:
                break
    except csv.Error:
        pass
    return rows


def _reader(text: str, dialect: Dialect) -> Iterator[list[str]]:
    lines = io.StringIO(text, newline="")
    escape = dialect.escape
    return csv.reader(
        lines, delimiter=dialect.delimiter, quotechar=dialect.quote, escapechar=escape, doublequote=escape is None
    )


def _agreement(rows: list[list[str]]) -> tuple[float, int]:
    """The share of rows with as many fields as the header, and that number; nothing if that is one, or few rows."""
    fields = len(rows[0]) if rows else 0
    alike = sum(len(row) == fields for row in rows[1:])
    if fields <= 1 or alike * 2 < len(rows) - 1:
        return 0.0, 0
    return (alike + 1) / len(rows), fields


HEAD_BYTES = 1 << 16
NOT_UTF8 = "not UTF-8: read it with encoding='latin-1'"
_CLAIMS: dict[str, SampleFormat] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".psv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".orc": "orc",
    ".json": "json",
    ".geojson": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".xlsb": "excel",
    ".xls": "excel",
    ".ods": "excel",
}
# A file with one of these extensions, or none, is whatever its content is.
_CLAIMS_NOTHING = frozenset({"", ".txt", ".dat", ".data"})
_TABLES: tuple[tuple[bytes, SampleFormat, str], ...] = (
    (b"PAR1", "parquet", "Parquet"),
    (b"ARROW1", "arrow", "Arrow"),
    (b"\xff\xff\xff\xff", "arrow", "Arrow stream"),
    (b"ORC", "orc", "ORC"),
)
_WORKBOOKS = ((b"PK\x03\x04", "a zip archive (Excel files are such)"), (b"\xd0\xcf\x11\xe0", "an old Office document"))
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_CONTROLS = frozenset(range(0x20)) - frozenset(b"\t\n\r\f\x1b\x01")
_MOST_ZEROS = 0.02
_FEWEST_ZEROS_OF_UTF16 = 0.4
_FEWEST_BYTES_OF_UTF16 = 8
_SURE_SIGNATURE_BYTES = 4


@dataclass(frozen=True)
class Content:
    """What a file holds. `encoding` is Python's name of it, for text; `kind` names the content for a person."""

    format: SampleFormat
    encoding: str = "utf-8"
    kind: str = ""
    notes: tuple[str, ...] = ()


def identify(name: str, path: Path, shown: Path | None = None) -> Content:
    """What the sample's file holds, by extension and content; `shown` is its path as the caller knows it.

    Raises:
        SampleError: it cannot be read, is empty, or holds something else than its extension says.
    """
    check_readable(name, path)
    claim = _CLAIMS.get(path.suffix.lower())
    try:
        found = _content(path, claim)
    except OSError as error:
        raise unreadable(name, path, error) from error
    if claim is not None and not _agree(claim, found.format):
        raise SampleError(
            f"sample {name!r}: {shown or path} is called {path.suffix}, but its content is {found.kind}; "
            "give it the right extension, or pass the right file"
        )
    return found


def read_head(path: Path, encoding: str, size_bytes: int = HEAD_BYTES) -> str:
    """The first bytes of a text file, decoded; a character cut at the end is left out."""
    with path.open("rb") as file:
        data = file.read(size_bytes)
    return codecs.getincrementaldecoder(encoding)(errors="replace").decode(data)


def _agree(claim: SampleFormat, found: SampleFormat) -> bool:
    return claim == found or {claim, found} == {"json", "jsonl"}


def _content(path: Path, claim: SampleFormat | None) -> Content:
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    for mark, form, kind in _TABLES:
        # Three letters alone may begin a text.
        if head.startswith(mark) and (form != "orc" or not head[:200].isascii()):
            return Content(format=form, kind=kind)
    for mark, kind in _WORKBOOKS:
        if head.startswith(mark):
            return Content(format="excel", kind="Excel") if claim == "excel" else Content(format="binary", kind=kind)
    encoding = _encoding(head)
    sniffed = _sniffed(head) if encoding in (None, "latin-1") else None
    if encoding is None or sniffed is not None:
        return Content(format="binary", kind=sniffed or "binary data")
    return _text(path, claim, encoding)


def _sniffed(head: bytes) -> str | None:
    """What the content-sniffing library makes of bytes that begin so; two or three letters may begin anything."""
    import puremagic

    try:
        matches = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return None
    sure = [match for match in matches if len(match.byte_match) >= _SURE_SIGNATURE_BYTES]
    best = max(sure, key=lambda match: match.confidence, default=None)
    return None if best is None else str(best.name or best.mime_type)


def _encoding(head: bytes) -> str | None:
    """The encoding of a text that begins like this; None for binary data."""
    marked = next((encoding for mark, encoding in _BYTE_ORDER_MARKS if head.startswith(mark)), None)
    if marked is not None:
        return marked
    if b"\x00" in head:
        return _utf16_without_mark(head)
    if _has_controls(head):
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, len(head) < HEAD_BYTES)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _utf16_without_mark(head: bytes) -> str | None:
    """In Latin letters, every other byte is zero."""
    if len(head) < _FEWEST_BYTES_OF_UTF16 or _has_controls(head.replace(b"\x00", b"")):
        return None
    even, odd = (part.count(0) / len(part) for part in (head[::2], head[1::2]))
    if odd > _FEWEST_ZEROS_OF_UTF16 and even < _MOST_ZEROS:
        return "utf-16-le"
    return "utf-16-be" if even > _FEWEST_ZEROS_OF_UTF16 and odd < _MOST_ZEROS else None


def _has_controls(head: bytes) -> bool:
    controls = sum(byte in _CONTROLS for byte in head[:4096])
    return controls > len(head[:4096]) // 100


def _text(path: Path, claim: SampleFormat | None, encoding: str) -> Content:
    head = read_head(path, encoding)
    form, kind = _text_format(head, claim, path.suffix.lower())
    notes = []
    if encoding == "latin-1":
        notes.append(NOT_UTF8)
    elif encoding.startswith("utf-16"):
        notes.append(f"not UTF-8: read it with encoding={encoding!r}")
    if claim == "json" and form == "jsonl":
        notes.append("the name says JSON, the content is JSON Lines: one document a line")
    return Content(form, encoding, kind, tuple(notes))


def _text_format(head: str, claim: SampleFormat | None, suffix: str) -> tuple[SampleFormat, str]:
    start = head.lstrip("\ufeff \t\r\n")
    json_format = _json_format(start, claim)
    if json_format is not None and (claim is not None or suffix in _CLAIMS_NOTHING):
        return json_format, "JSON" if json_format == "json" else "JSON Lines"
    if start[:200].lower().startswith(("<!doctype", "<html", "<?xml")):
        return "text", "a web page or XML"
    if claim in ("json", "jsonl"):
        # Not even its beginning is JSON.
        return "text", "other text"
    if claim == "csv" or (suffix in _CLAIMS_NOTHING and looks_like_table(head)):
        return "csv", "delimited text"
    return "text", "text"


def _json_format(start: str, claim: SampleFormat | None) -> Literal["json", "jsonl"] | None:
    """What text that begins like this is; None for no JSON. JSON Lines: its first line is a whole value, and more come.

    A single object is JSON Lines only where the name says so.
    """
    if not start.startswith(("{", "[")):
        return None
    first, _, rest = start.partition("\n")
    if claim == "jsonl" and start[0] == "{":
        return "jsonl"
    if _is_json(first):
        return "jsonl" if rest.lstrip()[:1] == start[0] else "json"
    # An opening bracket alone is JSON only if what follows can be: `[draft] notes` and `{x}, {y}` are text.
    following = start[1:].lstrip()[:1]
    allowed = '"}' if start[0] == "{" else '"{[]-0123456789tfn'
    return "json" if following in allowed else None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
