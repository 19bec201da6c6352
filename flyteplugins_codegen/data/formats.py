"""What a sample file holds: its format, its encoding and, for delimited text, its dialect.

The extension is compared with the first bytes; a file whose content contradicts its extension is refused.
"""

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

from flyteplugins_codegen.data.files import check_readable, unreadable_error
from flyteplugins_codegen.errors import SampleError
from flyteplugins_codegen.models.data import SampleFormat

HEAD_BYTES = 1 << 16
NOT_UTF8 = "not UTF-8: read it with encoding='latin-1'"
_FORMATS_BY_SUFFIX: dict[str, SampleFormat] = {
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
# The content alone decides about files with these extensions.
_NEUTRAL_SUFFIXES = frozenset({"", ".txt", ".dat", ".data"})
_TABLE_SIGNATURES: tuple[tuple[bytes, SampleFormat, str], ...] = (
    (b"PAR1", "parquet", "Parquet"),
    (b"ARROW1", "arrow", "Arrow"),
    (b"\xff\xff\xff\xff", "arrow", "Arrow stream"),
    (b"ORC", "orc", "ORC"),
)
_WORKBOOK_SIGNATURES = (
    (b"PK\x03\x04", "a zip archive (Excel files are such)"),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
)
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_CONTROLS = frozenset(range(0x20)) - frozenset(b"\t\n\r\f\x1b\x01")
_MOST_ZEROS = 0.02
_FEWEST_ZEROS_OF_UTF16 = 0.4
_FEWEST_BYTES_OF_UTF16 = 8
_FEWEST_SIGNATURE_BYTES = 4
_DELIMITERS = (",", ";", "\t", "|", "^", "~", "\x01")
_MOST_SNIFFED_ROWS = 100
_MOST_NAME_CHARACTERS = 64


@dataclass(frozen=True)
class Content:
    """The content of a file. `encoding` is Python's name for the encoding of text; `kind` is a name for messages."""

    format: SampleFormat
    encoding: str = "utf-8"
    kind: str = ""
    notes: tuple[str, ...] = ()


def identify(name: str, path: Path, display_path: Path | None = None) -> Content:
    """Identify the content of a sample's file by its extension and first bytes; `display_path` is for messages.

    Raises:
        SampleError: the file cannot be read, is empty, or its content contradicts its extension.
    """
    check_readable(name, path)
    claimed = _FORMATS_BY_SUFFIX.get(path.suffix.lower())
    try:
        content = _identify_content(path, claimed)
    except OSError as error:
        raise unreadable_error(name, path, error) from error
    if claimed not in (None, content.format) and {claimed, content.format} != {"json", "jsonl"}:
        raise SampleError(
            f"sample {name!r}: {display_path or path} is called {path.suffix}, but its content is {content.kind}; "
            "give it the right extension, or pass the right file"
        )
    return content


def read_head(path: Path, encoding: str, size_bytes: int = HEAD_BYTES) -> str:
    """Return the first bytes of a text file, decoded; a character that is cut at the end is dropped."""
    with path.open("rb") as file:
        data = file.read(size_bytes)
    return codecs.getincrementaldecoder(encoding)(errors="replace").decode(data)


def _identify_content(path: Path, claimed: SampleFormat | None) -> Content:
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    for mark, table_format, kind in _TABLE_SIGNATURES:
        # The signature of ORC has only three letters, so a text may begin with it.
        if head.startswith(mark) and (table_format != "orc" or not head[:200].isascii()):
            return Content(format=table_format, kind=kind)
    for mark, kind in _WORKBOOK_SIGNATURES:
        if head.startswith(mark):
            return Content(format="excel", kind="Excel") if claimed == "excel" else Content(format="binary", kind=kind)
    encoding = _detect_encoding(head)
    binary_kind = _binary_kind(head) if encoding in (None, "latin-1") else None
    if encoding is None or binary_kind is not None:
        return Content(format="binary", kind=binary_kind or "binary data")
    return _identify_text(path, claimed, encoding)


def _binary_kind(head: bytes) -> str | None:
    """Return puremagic's name for bytes that begin like this; matches of less than four bytes are ignored."""
    import puremagic

    try:
        matches = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return None
    sure = [match for match in matches if len(match.byte_match) >= _FEWEST_SIGNATURE_BYTES]
    best = max(sure, key=lambda match: match.confidence, default=None)
    return None if best is None else str(best.name or best.mime_type)


def _detect_encoding(head: bytes) -> str | None:
    """Return the encoding of text that begins like this; None for binary data."""
    marked = next((encoding for mark, encoding in _BYTE_ORDER_MARKS if head.startswith(mark)), None)
    if marked is not None:
        return marked
    if b"\x00" in head:
        return _detect_utf16(head)
    if _has_controls(head):
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, len(head) < HEAD_BYTES)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _detect_utf16(head: bytes) -> str | None:
    """Detect UTF-16 without a byte order mark: in text of Latin letters every other byte is zero."""
    if len(head) < _FEWEST_BYTES_OF_UTF16 or _has_controls(head.replace(b"\x00", b"")):
        return None
    even, odd = (part.count(0) / len(part) for part in (head[::2], head[1::2]))
    if odd > _FEWEST_ZEROS_OF_UTF16 and even < _MOST_ZEROS:
        return "utf-16-le"
    return "utf-16-be" if even > _FEWEST_ZEROS_OF_UTF16 and odd < _MOST_ZEROS else None


def _has_controls(head: bytes) -> bool:
    controls = sum(byte in _CONTROLS for byte in head[:4096])
    return controls > len(head[:4096]) // 100


def _identify_text(path: Path, claimed: SampleFormat | None, encoding: str) -> Content:
    head = read_head(path, encoding)
    text_format, kind = _text_format(head, claimed, path.suffix.lower())
    notes = []
    if encoding == "latin-1":
        notes.append(NOT_UTF8)
    elif encoding.startswith("utf-16"):
        notes.append(f"not UTF-8: read it with encoding={encoding!r}")
    if claimed == "json" and text_format == "jsonl":
        notes.append("the name says JSON, the content is JSON Lines: one document a line")
    return Content(text_format, encoding, kind, tuple(notes))


def _text_format(head: str, claimed: SampleFormat | None, suffix: str) -> tuple[SampleFormat, str]:
    start = head.lstrip("\ufeff \t\r\n")
    json_format = _json_format(start, claimed)
    if json_format is not None and (claimed is not None or suffix in _NEUTRAL_SUFFIXES):
        return json_format, "JSON" if json_format == "json" else "JSON Lines"
    if start[:200].lower().startswith(("<!doctype", "<html", "<?xml")):
        return "text", "a web page or XML"
    if claimed in ("json", "jsonl"):
        return "text", "other text"
    if claimed == "csv" or (suffix in _NEUTRAL_SUFFIXES and looks_like_table(head)):
        return "csv", "delimited text"
    return "text", "text"


def _json_format(start: str, claimed: SampleFormat | None) -> Literal["json", "jsonl"] | None:
    """Return the JSON format of text that begins like this; None if it is not JSON.

    It is JSON Lines if its first line is a complete value and more follow. A single object is JSON Lines only if the
    file name says so.
    """
    if not start.startswith(("{", "[")):
        return None
    first, _, rest = start.partition("\n")
    if claimed == "jsonl" and start[0] == "{":
        return "jsonl"
    if _is_json(first):
        return "jsonl" if rest.lstrip()[:1] == start[0] else "json"
    # The character after the opening bracket must fit JSON: `[draft] notes` and `{x}, {y}` are text.
    following = start[1:].lstrip()[:1]
    allowed = '"}' if start[0] == "{" else '"{[]-0123456789tfn'
    return "json" if following in allowed else None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


# --- the dialect of delimited text ---


@dataclass(frozen=True)
class CsvDialect:
    """The dialect of delimited text.

    `escape` is the character before a quote inside a quoted field, None if such quotes are doubled. The header follows
    `comment_lines` lines that begin with `#`.
    """

    delimiter: str
    quote: str = '"'
    escape: str | None = None
    comment_lines: int = 0


def sniff_dialect(head: str, suffix: str = ".csv") -> CsvDialect:
    """Return the dialect of text that begins like this, with the delimiter that splits rows as it splits the header.

    For text that no delimiter splits (a single column) it is the usual delimiter for the file's extension.
    """
    comment_lines = _count_comment_lines(head)
    body = head.split("\n", comment_lines)[-1]
    usual = {".tsv": "\t", ".tab": "\t", ".psv": "|"}.get(suffix, ",")
    delimiters = [usual, *(delimiter for delimiter in _DELIMITERS if delimiter != usual)]
    quote, escape = _detect_quoting(body)
    dialects = [CsvDialect(delimiter, quote, escape) for delimiter in delimiters]
    # `max` returns the first of equal items, so the usual delimiter wins a tie.
    best = max(dialects, key=lambda dialect: _agreement(first_rows(body, dialect)))
    delimiter = best.delimiter if _agreement(first_rows(body, best))[0] > 0 else usual
    return CsvDialect(delimiter, quote, escape, comment_lines)


def looks_like_table(head: str) -> bool:
    """Return whether the text is delimited: its first row holds names, and all rows have the same number of fields."""
    rows = first_rows(head, sniff_dialect(head))
    if len(rows) <= 1 or _agreement(rows)[0] < 1.0:
        return False
    names = rows[0]
    return len(set(names)) == len(names) and all(
        field and field == field.strip() and len(field) <= _MOST_NAME_CHARACTERS for field in names
    )


def first_rows(head: str, dialect: CsvDialect) -> list[list[str]]:
    """Return the first rows of the text without blank lines; an incomplete last line is dropped if others remain.

    Never raises: text that is not CSV returns the rows before the error.
    """
    body = head.split("\n", dialect.comment_lines)[-1]
    complete = body[: body.rfind("\n") + 1] or body
    rows: list[list[str]] = []
    try:
        for row in _read_rows(complete, dialect):
            if row:
                rows.append(row)
            if len(rows) == _MOST_SNIFFED_ROWS:
                break
    except csv.Error:
        pass
    return rows


def _read_rows(text: str, dialect: CsvDialect) -> Iterator[list[str]]:
    lines = io.StringIO(text, newline="")
    escape = dialect.escape
    return csv.reader(
        lines, delimiter=dialect.delimiter, quotechar=dialect.quote, escapechar=escape, doublequote=escape is None
    )


def _count_comment_lines(head: str) -> int:
    """Count the comment lines before the header: `#` alone, or `#` and a blank."""
    lines = head.lstrip("\ufeff").split("\n")
    count = 0
    while count < len(lines) - 1 and re.match(r"#(?:\s|$)", lines[count]):
        count += 1
    return count


def _detect_quoting(body: str) -> tuple[str, str | None]:
    """Return the quote character, and the escape character before quotes inside a field, if there is one."""
    if '\\"' in body and re.search(r'(?:^|[,;\t|])"', body, re.MULTILINE):
        return '"', "\\"
    quoted = re.findall(r"(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|\r\n]|$)", body, re.MULTILINE)
    return ("'", None) if '"' not in body and len(quoted) > 1 else ('"', None)


def _agreement(rows: list[list[str]]) -> tuple[float, int]:
    """Return the share of rows with as many fields as the header, and that number of fields.

    Both are zero for a header of one field, and if less than half of the rows agree.
    """
    fields = len(rows[0]) if rows else 0
    alike = sum(len(row) == fields for row in rows[1:])
    if fields <= 1 or alike * 2 < len(rows) - 1:
        return 0.0, 0
    return (alike + 1) / len(rows), fields
