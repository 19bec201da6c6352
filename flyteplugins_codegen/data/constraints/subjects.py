"""Which column a constraint speaks of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
