"""What an output file holds: a table, a JSON document, text, or something that cannot be compared."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flyteplugins_codegen.data.formats import CsvDialect, looks_like_table, sniff_dialect

_HEAD_CHARACTERS = 1 << 16
_PARQUET = b"PAR1"
_WORKBOOK_PART = "xl/workbook.xml"
_MOST_UNPACKED_BYTES = 64 << 20
# Formats that are text but show a picture or a page: two programs that draw the same write other text.
_DRAWN = ("<!doctype", "<html", "<?xml", "<svg", "%pdf", "{\\rtf", "%!ps")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of a table and its rows. `dialect` is that of delimited text.

    `is_sparse`: rows may lack columns, as JSON records do, so that a column without values may be absent.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    dialect: CsvDialect | None = None
    is_sparse: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON document that is no table."""

    value: Any


@dataclass(frozen=True, slots=True)
class Text:
    """Text of no known structure."""

    text: str


@dataclass(frozen=True, slots=True)
class Workbook:
    """The sheets of a workbook by name."""

    sheets: Mapping[str, Table]


FileContent = Table | Document | Text | Workbook


def read_contents(one: bytes, other: bytes) -> tuple[FileContent, FileContent] | None:
    """Return the contents of two files that are to be the same, in the same form; None if they cannot be compared."""
    first, second = _read_content(one), _read_content(other)
    if first is None or second is None:
        return None
    first, second = _like(first, second), _like(second, first)
    if type(first) is type(second):
        return first, second
    texts = _decode(one), _decode(other)
    return None if texts[0] is None or texts[1] is None else (Text(texts[0]), Text(texts[1]))


def _read_content(data: bytes) -> FileContent | None:
    if data.startswith(_PARQUET):
        return _read_parquet(data)
    if data.startswith(b"PK\x03\x04"):
        return _read_workbook(data)
    text = _decode(data)
    if text is None or text[:200].lstrip().lower().startswith(_DRAWN):
        return None
    return _read_json(text) or _read_delimited(text) or Text(text)


def _decode(data: bytes) -> str | None:
    """Return the text of a file; None for binary data."""
    try:
        if data.startswith(_UTF16_MARKS):
            return data.decode("utf-16")
        return None if b"\x00" in data else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        controls = sum(byte < 9 or 13 < byte < 32 for byte in data[:4096])  # noqa: PLR2004 - the control characters
        return None if controls else data.decode("latin-1")


def _like(content: FileContent, other: FileContent) -> FileContent:
    """Return the content in the form of the other one, where an empty or a single row has lost its form."""
    if not isinstance(other, Table) or isinstance(content, (Table, Workbook)):
        return content
    if isinstance(content, Document):
        if content.value == []:
            return Table(other.columns, (), is_sparse=True)
        return records_table([content.value]) if other.is_sparse and isinstance(content.value, dict) else content
    if not content.text.strip():
        return Table(other.columns, ())
    return (_parse_delimited(content.text, other.dialect) if other.dialect else None) or content


# --- formats ---


def _read_json(text: str) -> Table | Document | None:
    start = text.lstrip()[:1]
    if start not in {"{", "["}:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _read_json_lines(text)
    if isinstance(value, list) and value and all(isinstance(record, dict) for record in value):
        return records_table(value)
    return Document(value)


def _read_json_lines(text: str) -> Table | None:
    try:
        records = [json.loads(line) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError):
        return None
    return records_table(records) if all(isinstance(record, dict) for record in records) else None


def records_table(records: Sequence[dict[str, Any]]) -> Table:
    """Return JSON records as a table; a name that a record lacks is a null in it."""
    columns = tuple(dict.fromkeys(name for record in records for name in record))
    return Table(columns, [tuple(map(record.get, columns)) for record in records], is_sparse=True)


def _read_delimited(text: str) -> Table | None:
    head = text[:_HEAD_CHARACTERS]
    if looks_like_table(head):
        return _parse_delimited(text, sniff_dialect(head))
    line = text.strip()
    # A header without rows.
    is_header = "\n" not in line and any(delimiter in line for delimiter in ",;\t")
    return _parse_delimited(line, sniff_dialect(line)) if is_header and " " not in line else None


def _parse_delimited(text: str, dialect: CsvDialect) -> Table | None:
    """Return the table in delimited text; None if a row has not the length of the header."""
    lines = io.StringIO(text, newline="")
    for _ in range(dialect.comment_lines):
        lines.readline()
    try:
        reader = csv.reader(
            lines,
            delimiter=dialect.delimiter,
            quotechar=dialect.quote,
            escapechar=dialect.escape,
            doublequote=dialect.escape is None,
        )
        names, *rows = [row for row in reader if row]
    except (csv.Error, ValueError):
        return None
    if len(set(names)) < len(names) or any(len(row) != len(names) for row in rows):
        return None
    return Table(tuple(name.strip() for name in names), [tuple(row) for row in rows], dialect)


def _read_parquet(data: bytes) -> Table | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(data))
        columns = [column.to_pylist() for column in table.columns]
    except (pa.ArrowException, ValueError, OSError, ImportError):
        return None
    return Table(tuple(table.column_names), list(zip(*columns, strict=True)))


def _read_workbook(data: bytes) -> Workbook | None:
    """Return the sheets of a workbook, if openpyxl is installed; None for any other archive."""
    try:
        import openpyxl  # type: ignore[import-untyped,unused-ignore]  # it ships no types
    except ImportError:
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
        is_workbook = any(part.filename == _WORKBOOK_PART for part in parts)
        if not is_workbook or sum(part.file_size for part in parts) > _MOST_UNPACKED_BYTES:
            return None
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        return Workbook({sheet.title: _sheet_table(sheet) for sheet in book.worksheets})
    except Exception:  # noqa: BLE001 - a damaged workbook fails in any way, and is not comparable
        return None


def _sheet_table(sheet: Any) -> Table:
    rows = [tuple(row) for row in sheet.iter_rows(values_only=True)]
    names = (
        tuple(str(name) if name is not None else f"column {number}" for number, name in enumerate(rows[0], 1))
        if rows
        else ()
    )
    return Table(names, rows[1:])
