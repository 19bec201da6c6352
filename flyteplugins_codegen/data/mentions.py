"""The columns that a job speaks of, by name or by value. Pure text.

A column is rather found once too often: what is told of a column that nobody needs costs a line, what is not told of
one that is needed costs a wrong solution.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from flyteplugins_codegen.models.data import ColumnProfile

_FEWEST_CHARS: Final = 3
_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def mentioned_columns(columns: Iterable[ColumnProfile], job: str) -> frozenset[str]:
    """The names of the columns that the text of a job mentions.

    A column is mentioned by its whole name; by a word of its name, where one begins like the other (`dep_delay` by
    "delayed"); and by one of its commonest texts.
    """
    text = job.casefold()
    words = sorted({word for word in _words(job) if len(word) >= _FEWEST_CHARS})
    return frozenset(column.name for column in columns if _is_mentioned(column, text, words))


def _is_mentioned(column: ColumnProfile, text: str, words: list[str]) -> bool:
    values = (value for value, _ in column.top_values if isinstance(value, str) and len(value) >= _FEWEST_CHARS)
    if any(_has(text, whole.casefold()) for whole in (column.name, *values)):
        return True
    parts = [part for part in _words(column.name) if len(part) >= _FEWEST_CHARS]
    return any(word.startswith(part) or part.startswith(word) for part in parts for word in words)


def _has(text: str, whole: str) -> bool:
    """Whether the text has it with no other character of a word beside it."""
    return whole in text and re.search(rf"(?<!\w){re.escape(whole)}(?!\w)", text) is not None


def _words(text: str) -> Iterator[str]:
    """The words in lower case; `unitPrice` and `unit_price` are two each."""
    return (word.casefold() for word in _WORD.findall(_CAPITAL.sub(" ", text)))
