"""How delimited text is delimited, told from its beginning."""

from __future__ import annotations

import csv
import io

DELIMITERS = (",", ";", "\t", "|")
_ROWS_LOOKED_AT = 100
_MOST_NAME_CHARACTERS = 64


def sniff_delimiter(head: str, suffix: str = ".csv") -> str:
    """The delimiter of text that begins like this: the one that splits its rows as it splits its header.

    Where none does (a single column), the one that the file's extension stands for.
    """
    usual = {".tsv": "\t", ".tab": "\t", ".psv": "|"}.get(suffix, ",")
    candidates = [usual, *(delimiter for delimiter in DELIMITERS if delimiter != usual)]
    # `max` keeps the first of equals, so that a tie goes to the usual one.
    best = max(candidates, key=lambda delimiter: _agreement(first_rows(head, delimiter)))
    return best if _agreement(first_rows(head, best))[0] > 0 else usual


def looks_like_table(head: str) -> bool:
    """Whether text without a telling name is delimited: names in its first row, as many fields in all others."""
    rows = first_rows(head, sniff_delimiter(head))
    if len(rows) <= 1 or _agreement(rows)[0] < 1.0:
        return False
    names = rows[0]
    return len(set(names)) == len(names) and all(
        field and field == field.strip() and len(field) <= _MOST_NAME_CHARACTERS for field in names
    )


def first_rows(head: str, delimiter: str) -> list[list[str]]:
    """The rows that the text begins with, blank lines left out; a last line without its end is left out if others are.

    Never raises: text that is no CSV gives the rows before the fault.
    """
    whole = head[: head.rfind("\n") + 1] or head
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(whole, newline=""), delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) == _ROWS_LOOKED_AT:
                break
    except csv.Error:
        pass
    return rows


def _agreement(rows: list[list[str]]) -> tuple[float, int]:
    """The share of rows with as many fields as the header, and that number; nothing if that is one, or few rows."""
    fields = len(rows[0]) if rows else 0
    alike = sum(len(row) == fields for row in rows[1:])
    if fields <= 1 or alike * 2 < len(rows) - 1:
        return 0.0, 0
    return (alike + 1) / len(rows), fields
