"""The parts of a constraint: columns, regular expressions, numbers, dates and lists."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flyteplugins_codegen.data.constraints.facts import ColumnFacts
from flyteplugins_codegen.models.data import Bound

_MOST_WORDS = 12
_QUOTES = "\"'`"
_OPEN_COLUMN = re.compile(r"([A-Za-z]\w*)\.(?:([A-Za-z_]\w*)|([\"'`])(.+?)\3)(?=\s|,|$)")
_PATTERN_CHARACTERS = re.compile(r"[\\\[\](){}^$*+|]")
# Such as `(a+)+`, which takes exponential time on text that does not match.
_NESTED_REPEATS = re.compile(r"\((?:[^()\\]|\\.)*(?:[*+]|\{\d+,\d*\})(?:[^()\\]|\\.)*\)(?:[*+]|\{\d+,\d*\})")
_INTEGER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)\Z", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d*)\.?\d+(?:[eE][+-]?\d{1,3})?\Z", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?\Z", re.ASCII)
_WORDS = {"zero": 0, "one": 1}
# Words that end a list because the sentence goes on. Only in lower case: `IS` and `NOT` may be codes.
_END_OF_LIST = re.compile(
    r"\b(?:must|should|shall|is|are|if|unless|when|where|while|except|but|not|only|with)\b|[.;:]\s"
)
_QUOTED_ITEM = re.compile(r"\s*(?:\"([^\"]*)\"|'([^']*)'|`([^`]*)`)\s*(?:,\s*(?:and|or)\s|,|and\s|or\s|\Z)")


class NotApplicableError(ValueError):
    """The constraint is understood but cannot be applied; the message says why."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A column of a sample or of an output, with what is known of it."""

    table: str
    column: str
    facts: ColumnFacts = field(default_factory=ColumnFacts)


class Vocabulary:
    """The columns that constraints can refer to, with or without facts about them.

    If the columns of a table are None, any column of it can be referred to, written as `table.column`.
    """

    def __init__(self, tables: Mapping[str, Sequence[str] | Mapping[str, ColumnFacts] | None]) -> None:
        self._open = {_key(table): table for table, columns in tables.items() if columns is None}
        self._known: dict[str, list[Subject]] = {}
        for table, columns in tables.items():
            for column in columns or ():
                facts = columns[column] if isinstance(columns, Mapping) else ColumnFacts()
                for spelling in {_key(column), _key(f"{table}.{column}")}:
                    self._known.setdefault(spelling, []).append(Subject(table, column, facts))
        self._add_plurals()
        self.tables = tuple(tables)

    def _add_plurals(self) -> None:
        """Add `order ids`, `quantities` and `zip codes`, unless these are names of columns themselves."""
        for key, subjects in list(self._known.items()):
            stem = key[:-1] + "ies" if re.search(r"[^aeiou]y\Z", key) else key + "s"
            for spelling in (stem, f"{key}_codes", f"{key}_numbers"):
                self._known.setdefault(spelling, subjects)

    def within(self, table: str) -> Vocabulary:
        """The columns of one table."""
        narrow = Vocabulary({})
        narrow._open = {key: name for key, name in self._open.items() if name == table}
        narrow._known = {
            key: own for key, subjects in self._known.items() if (own := [s for s in subjects if s.table == table])
        }
        return narrow

    def read(self, text: str) -> tuple[Subject, str] | None:
        """Return the column at the beginning of the text, and the rest of the text. The longest name is used.

        Raises:
            NotApplicableError: several tables have such a column.
        """
        quoted = re.match(r"(?:\w+\.)?([\"'`])(.+?)\1", text)
        if quoted is not None and _key(quoted[0]) in self._known:
            return self._resolve(quoted[0]), text[quoted.end() :]
        ends = [word.end() for word in re.finditer(r"\S+", text)][:_MOST_WORDS]
        for end in reversed(ends):
            name = text[:end].rstrip(",;:")
            if _key(name) in self._known:
                return self._resolve(name), text[len(name) :]
        return self._read_open_column(text)

    def _resolve(self, name: str) -> Subject:
        candidates = self._known[_key(name)]
        exact = [
            subject
            for subject in candidates
            if _without_quotes(name) in (subject.column, f"{subject.table}.{subject.column}")
        ]
        matches = exact or candidates
        if len(matches) > 1:
            spellings = " or ".join(f"{subject.table}.{subject.column}" for subject in matches[:3])
            raise NotApplicableError(f"{name!r} may be several columns; write {spellings}")
        return matches[0]

    def _read_open_column(self, text: str) -> tuple[Subject, str] | None:
        match = _OPEN_COLUMN.match(text)
        if match is None or _key(match[1]) not in self._open:
            return None
        return Subject(self._open[_key(match[1])], match[2] or match[4]), text[match.end() :]


def _without_quotes(name: str) -> str:
    return "".join(c for c in name if c not in _QUOTES)


def _key(name: str) -> str:
    """Return the key by which names are compared: without case, quotes and the kind of blank between words."""
    return re.sub(r"[\s_-]+", "_", _without_quotes(name).strip()).casefold()


# --- regular expressions ---


def read_pattern(written: str) -> str | None:
    """Return the regular expression, quoted or recognised by its special characters; None for words.

    Raises:
        NotApplicableError: see `checked_pattern`.
    """
    quoted = re.fullmatch(r"(?:r?\"(.+)\"|r?'(.+)'|`(.+)`|/(.+)/)", written)
    if quoted is not None:
        return checked_pattern(next(group for group in quoted.groups() if group))
    is_words = re.search(r"\s", written) or not _PATTERN_CHARACTERS.search(written)
    return None if is_words else checked_pattern(written)


def checked_pattern(pattern: str) -> str:
    """Check that the regular expression is valid and cannot take exponential time. Raises NotApplicableError."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise NotApplicableError(f"{pattern!r} is no regular expression: {error}") from None
    if _NESTED_REPEATS.search(pattern):
        raise NotApplicableError(f"{pattern!r} repeats a repetition, which may take for ever; write it without")
    return pattern


# --- numbers, dates and lists ---


def read_bound(text: str) -> Bound | None:
    """Return a number or a date; None for anything else, such as a number with a unit."""
    text = text.strip()
    if text.casefold() in _WORDS:
        return _WORDS[text.casefold()]
    if _INTEGER.match(text):
        return int(text.replace(",", ""))
    if _FLOAT.match(text):
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
    """Return the items of `A, B or C`, `[A, B]`, `'A', 'B and C'`; None if the end of an item is not clear."""
    text = text.strip()
    if len(text) > 1 and text[0] + text[-1] in {"[]", "()", "{}"}:
        text = text[1:-1].strip()
    items = _quoted_items(text) if text[:1] in {'"', "'", "`"} else _plain_items(text)
    return tuple(dict.fromkeys(items)) if items and all(items) else None


def _quoted_items(text: str) -> list[str] | None:
    items, position = [], 0
    while position < len(text):
        match = _QUOTED_ITEM.match(text, position)
        if match is None:
            return None
        items.append(next(group for group in match.groups() if group is not None))
        position = match.end()
    return items


def _plain_items(text: str) -> list[str] | None:
    # `1,000` may be one number or two.
    if re.search(r"\d,\d{3}(?!\d)|[\"'`()\[\]{}]", text) or _END_OF_LIST.search(text):
        return None
    parts = [part.strip() for part in re.split(r",\s*(?:and|or)\s+|,", text)]
    last = re.split(r"\s+(?:and|or)\s+", parts.pop())
    return [*parts, *(part.strip() for part in last)]
