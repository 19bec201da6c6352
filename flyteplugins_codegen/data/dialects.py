"""How delimited text is delimited, told from its beginning."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

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
