"""How often each value of a column occurs, batch by batch, as long as there are few."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import JsonValue

from flyteplugins_codegen.data.values import is_text

_LONGEST_CHARACTERS = 200


class ValueCounts:
    """Exact counts; given up, for good, at the first sight of too many values or of long ones."""

    def __init__(self, most_values: int) -> None:
        self._most_values = most_values
        self._counted: Counter[Any] | None = Counter()
        self._type: pa.DataType = pa.null()

    @staticmethod
    def can_count(kind: pa.DataType) -> bool:
        """Whether values of the type can be told apart in Python as Arrow tells them apart."""
        return bool(is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))

    def add(self, column: pa.Array) -> bool:
        """Take in the next batch; whether counting goes on."""
        if self._counted is None:
            return False
        self._type = column.type
        counts = pc.value_counts(column.drop_null() if column.null_count else column)
        values = counts.field("values")
        if len(values) > self._most_values or _are_long(values):
            self._counted = None
            return False
        for value, count in zip(values.to_pylist(), counts.field("counts").to_pylist(), strict=True):
            self._counted[value] += count
        if len(self._counted) > self._most_values:
            self._counted = None
        return self._counted is not None

    def counts(self) -> tuple[tuple[JsonValue, int], ...] | None:
        """Every value with its count, the commonest first, of equally common ones the least; None if given up."""
        if self._counted is None:
            return None
        ranked = sorted(self._counted.items(), key=lambda pair: (-pair[1], pair[0]))
        return tuple(ranked)


def _are_long(values: pa.Array) -> bool:
    return is_text(values.type) and (pc.max(pc.binary_length(values)).as_py() or 0) > _LONGEST_CHARACTERS
