"""How long the texts of a column are, batch by batch.

Told by where each text begins and ends in Arrow's buffers, since no engine has a cheaper way: to ask a database for
the lengths and the blanks of three columns took as long as to read all eight of a CSV file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import numpy as np

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]
    Places = np.ndarray[Any, np.dtype[Any]]

_LAST_BLANK = 0x20
_FIRST_NOT_ASCII = 0x80


class TextLengths:
    """Lengths in characters, and how many texts are empty, or begin or end with a blank."""

    def __init__(self) -> None:
        self._shortest: int | None = None
        self._longest = 0
        self._characters = 0
        self._count = 0
        self._empty_count = 0
        self._padded_count = 0

    def add(self, column: pa.Array) -> None:
        """Take in the next texts; nulls are none."""
        import numpy as np

        valid = column.drop_null() if column.null_count else column
        if not len(valid):
            return
        places, data = _buffers(valid)
        lengths = np.diff(places)
        within = data[places[0] : places[-1]]
        if len(within) and within.max() >= _FIRST_NOT_ASCII:
            lengths = _characters(valid)
        shortest = int(lengths.min())
        self._shortest = shortest if self._shortest is None else min(self._shortest, shortest)
        self._longest = max(self._longest, int(lengths.max()))
        self._characters += int(lengths.sum())
        self._count += len(valid)
        self._add_blanks(valid, places, data)

    def told(self) -> dict[str, Any]:
        """The fields of a `TextProfile` that this knows; all zero where there was no text."""
        return {
            "shortest": self._shortest or 0,
            "longest": self._longest,
            "mean_length": self._characters / self._count if self._count else 0.0,
            "empty_count": self._empty_count,
            "padded_count": self._padded_count,
        }

    def _add_blanks(self, valid: pa.Array, places: Places, data: Bytes) -> None:
        firsts, ends = places[:-1], places[1:] - 1
        if not self._shortest:
            is_filled = ends >= firsts
            firsts, ends = firsts[is_filled], ends[is_filled]
        is_padded = (data[firsts] <= _LAST_BLANK) | (data[ends] <= _LAST_BLANK)
        self._empty_count += len(valid) - len(firsts)
        if is_padded.any():
            # Rare, so that it may cost more; a text of blanks alone is empty.
            trimmed = pc.utf8_trim_whitespace(valid)
            self._padded_count += _count(pc.not_equal(pc.binary_length(trimmed), pc.binary_length(valid)))
            self._empty_count += _count(pc.invert(pc.match_substring_regex(trimmed, "(?s)."))) - (
                len(valid) - len(firsts)
            )


def _count(mask: pa.Array) -> int:
    return int(pc.sum(mask).as_py() or 0)


def _buffers(texts: pa.Array) -> tuple[Places, Bytes]:
    """Where each text begins, and the last one ends, in the bytes of all."""
    import numpy as np

    kind: Any = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, places, data = texts.buffers()
    width = np.dtype(kind).itemsize
    found = np.frombuffer(places, kind, len(texts) + 1, texts.offset * width)
    return found, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)


def _characters(texts: pa.Array) -> Places:
    import numpy as np

    lengths = pc.utf8_length(texts)
    kind: Any = np.int64 if pa.types.is_int64(lengths.type) else np.int32
    return np.frombuffer(lengths.buffers()[1], kind, len(lengths), lengths.offset * np.dtype(kind).itemsize)
