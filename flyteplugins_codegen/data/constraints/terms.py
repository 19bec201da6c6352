"""Which column a constraint speaks of."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flyteplugins_codegen.models.data import Bound

_MOST_WORDS = 12
_QUOTES = "\"'`"
_OPEN_COLUMN = re.compile(r"([A-Za-z]\w*)\.(?:([A-Za-z_]\w*)|([\"'`])(.+?)\3)(?=\s|,|$)")


class NotApplicableError(ValueError):
    """The constraint is understood well enough to say why it cannot be applied."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A column of a table: of a sample, or of an output."""

    table: str
    column: str


class Vocabulary:
    """The columns that constraints can speak of. None instead of a table's columns: any name, written `table.name`."""

    def __init__(self, tables: Mapping[str, Sequence[str] | None]) -> None:
        self._open = {_key(table): table for table, columns in tables.items() if columns is None}
        self._known: dict[str, list[Subject]] = {}
        for table, columns in tables.items():
            for column in columns or ():
                for spelling in {_key(column), _key(f"{table}.{column}")}:
                    self._known.setdefault(spelling, []).append(Subject(table, column))

    def read(self, text: str) -> tuple[Subject, str] | None:
        """The column that the text begins with, and the rest; the longest name counts.

        Raises NotApplicableError where several tables have such a column.
        """
        quoted = _quoted(text)
        if quoted is not None and _key(quoted[0]) in self._known:
            return self._chosen(quoted[0]), quoted[1]
        ends = [found.end() for found in re.finditer(r"\S+", text)][:_MOST_WORDS]
        for end in reversed(ends):
            name = text[:end].rstrip(",;")
            if _key(name) in self._known:
                return self._chosen(name), text[len(name) :]
        return self._of_open_table(text)

    def _chosen(self, name: str) -> Subject:
        found = self._known[_key(name)]
        exact = [subject for subject in found if _bare(name) in (subject.column, f"{subject.table}.{subject.column}")]
        chosen = exact or found
        if len(chosen) > 1:
            spellings = " or ".join(f"{subject.table}.{subject.column}" for subject in chosen[:3])
            raise NotApplicableError(f"{name!r} may be several columns; write {spellings}")
        return chosen[0]

    def _of_open_table(self, text: str) -> tuple[Subject, str] | None:
        found = _OPEN_COLUMN.match(text)
        if found is None or _key(found[1]) not in self._open:
            return None
        return Subject(self._open[_key(found[1])], found[2] or found[4]), text[found.end() :]


def _quoted(text: str) -> tuple[str, str] | None:
    """A name in quotes at the beginning, with a table before it or none, and the rest."""
    found = re.match(r"(?:\w+\.)?([\"'`])(.+?)\1", text)
    return (found[0], text[found.end() :]) if found else None


def _bare(name: str) -> str:
    return "".join(c for c in name if c not in _QUOTES)


def _key(name: str) -> str:
    """How names are compared: case, quotes, and the kind of blank between words count for nothing."""
    return re.sub(r"[\s_-]+", "_", _bare(name).strip()).casefold()


# Regular expressions in constraints: as they are written in a sentence, and whether they end in time.

_SIGNS = re.compile(r"[\\\[\](){}^$*+|]")
# `(a+)+` and the like: exponential time on text that does not match.
_NESTED_REPEATS = re.compile(r"\((?:[^()\\]|\\.)*(?:[*+]|\{\d+,\d*\})(?:[^()\\]|\\.)*\)(?:[*+]|\{\d+,\d*\})")


def read_pattern(written: str) -> str | None:
    """The regular expression, quoted or with its signs; None for words. Raises as `checked_pattern`."""
    quoted = re.fullmatch(r"(?:r?\"(.+)\"|r?'(.+)'|`(.+)`|/(.+)/)", written)
    if quoted is not None:
        return checked_pattern(next(group for group in quoted.groups() if group))
    is_plain = re.search(r"\s", written) or not _SIGNS.search(written)
    return None if is_plain else checked_pattern(written)


def checked_pattern(pattern: str) -> str:
    """The regular expression, if it is one that ends in time. Raises NotApplicableError."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise NotApplicableError(f"{pattern!r} is no regular expression: {error}") from None
    if _NESTED_REPEATS.search(pattern):
        raise NotApplicableError(f"{pattern!r} repeats a repetition, which may take for ever; write it without")
    return pattern


# The numbers, dates and lists of a constraint.

_WHOLE = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)\Z", re.ASCII)
_REAL = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d*)\.?\d+(?:[eE][+-]?\d{1,3})?\Z", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?\Z", re.ASCII)
_WORDS = {"zero": 0, "one": 1}
# Words that no item of a list has: the sentence goes on. In small letters, for `IS` and `NOT` are codes.
_GOES_ON = re.compile(r"\b(?:must|should|shall|is|are|if|unless|when|where|while|except|but|not|only|with)\b|[.;:]\s")
_QUOTED_ITEM = re.compile(r"\s*(?:\"([^\"]*)\"|'([^']*)'|`([^`]*)`)\s*(?:,\s*(?:and|or)\s|,|and\s|or\s|\Z)")


def read_bound(text: str) -> Bound | None:
    """A number or a date; None for anything else, such as one with a unit."""
    text = text.strip()
    if text.casefold() in _WORDS:
        return _WORDS[text.casefold()]
    if _WHOLE.match(text):
        return int(text.replace(",", ""))
    if _REAL.match(text):
        return float(text.replace(",", ""))
    return _read_date(text)


def _read_date(text: str) -> str | None:
    if not _DATE.match(text):
        return None
    try:
        dt.datetime.fromisoformat(text)
    except ValueError:
        raise NotApplicableError(f"{text} is no date of the calendar") from None
    return text


def read_list(text: str) -> tuple[str, ...] | None:
    """The items of `A, B or C`, `[A, B]`, `'A', 'B and C'`; None where it cannot be told where one ends."""
    text = text.strip()
    if len(text) > 1 and text[0] + text[-1] in {"[]", "()", "{}"}:
        text = text[1:-1].strip()
    items = _quoted_items(text) if text[:1] in {'"', "'", "`"} else _plain_items(text)
    return tuple(dict.fromkeys(items)) if items and all(items) else None


def _quoted_items(text: str) -> list[str] | None:
    items, position = [], 0
    while position < len(text):
        found = _QUOTED_ITEM.match(text, position)
        if found is None:
            return None
        items.append(next(group for group in found.groups() if group is not None))
        position = found.end()
    return items


def _plain_items(text: str) -> list[str] | None:
    # `1,000` may be one number or two.
    if re.search(r"\d,\d{3}(?!\d)|[\"'`()\[\]{}]", text) or _GOES_ON.search(text):
        return None
    parts = [part.strip() for part in re.split(r",\s*(?:and|or)\s+|,", text)]
    last = re.split(r"\s+(?:and|or)\s+", parts.pop())
    return [*parts, *(part.strip() for part in last)]
