"""How one delimited file is laid out: its encoding, its dialect and the names in its header."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flyteplugins_codegen.data.dialects import Dialect, first_rows, sniff_dialect
from flyteplugins_codegen.data.formats import HEAD_BYTES, read_head
from flyteplugins_codegen.data.tables import Part, Source, unique_names

REMEDY = "repair the file, or save it again as CSV"
_MOST_HEADER_BYTES = 4 << 20
# A fraction or an e-mail address; whole numbers and days name columns of pivot tables.
_NO_NAME = re.compile(r"\s*(?:[+-]?\d*\.\d+|[^\s@]+@[^\s@]+\.[A-Za-z]+)\s*")
_HEX_NUMBER = re.compile(r"\s*[+-]?0[xX]")


@dataclass(frozen=True)
class Layout:
    """How one file is laid out; `names` are those of its columns, made unique."""

    source: Source
    part: Part
    encoding: str
    dialect: Dialect
    names: tuple[str, ...]


def read_layout(source: Source, part: Part, notes: list[str]) -> Layout:
    """The layout of a file, told by its beginning; adds notes on what is unusual. Raises SampleError for no CSV."""
    head = _head(part)
    if not head.strip("\ufeff \t\r\n"):
        raise source.error("holds nothing but blank lines", "pass a file that holds some data", part)
    dialect = sniff_dialect(head, part.path.suffix.lower())
    rows = first_rows(head, dialect)
    if not rows:
        raise source.error("begins with no row of CSV that can be read", REMEDY, part)
    notes += part.content.notes
    notes += _notes_on(rows, dialect)
    return Layout(
        source, part, part.content.encoding.removesuffix("-sig"), dialect, tuple(unique_names(rows[0], notes))
    )


def is_header_only(layout: Layout) -> bool:
    """Whether no row follows the header."""
    path = layout.part.path
    return path.stat().st_size < HEAD_BYTES and len(first_rows(_head(layout.part), layout.dialect)) == 1


def _head(part: Part) -> str:
    head = read_head(part.path, part.content.encoding)
    return head if "\n" in head else read_head(part.path, part.content.encoding, _MOST_HEADER_BYTES)


def hex_columns(part: Part, dialect: Dialect) -> list[int]:
    """The columns that begin with numbers such as `0x1F`: Arrow takes these for numbers, pandas for text."""
    rows = first_rows(_head(part), dialect)[1:]
    return sorted({position for row in rows for position, field in enumerate(row) if _HEX_NUMBER.match(field)})


def _notes_on(rows: list[list[str]], dialect: Dialect) -> list[str]:
    notes = [] if dialect.delimiter == "," else [f"the delimiter is {dialect.delimiter!r}"]
    if dialect.quote != '"':
        notes.append(f"texts are quoted by {dialect.quote!r}")
    if dialect.escape:
        notes.append(f"quotes within texts are written after {dialect.escape!r}")
    if dialect.comment_lines:
        notes.append(f"the header comes after {dialect.comment_lines} lines of comment")
    if len(rows) > 1 and (all(_is_number(field) for field in rows[0]) or any(map(_NO_NAME.fullmatch, rows[0]))):
        notes.append("the first row looks like data, not like a header; it is taken for the header here")
    return notes


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
