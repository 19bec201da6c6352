"""Values of Arrow columns: in a form that can be compared, and as JSON has them, never cut without a mark."""

from __future__ import annotations

import json
import math
import struct
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import JsonValue

from flyteplugins_codegen.text import shorten_end

_MOST_CHARACTERS = 200
_COMPARABLE_DECIMAL_BITS = 128


def json_values(array: pa.Array) -> list[JsonValue]:
    """The array's values as JSON has them.

    Dates and times are ISO 8601 (with a zone: in UTC, `Z` at the end; years beyond 9999 with all their digits),
    decimals text, bytes hex digits, infinities `"inf"` and `"-inf"`, nested values JSON text. Texts of more than 200
    characters are shortened, with a mark.
    """
    kind = array.type
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        return [
            None if value is None else shorten_end(_as_json(value), _MOST_CHARACTERS) for value in array.to_pylist()
        ]
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        return _iso(array)
    if pa.types.is_decimal(kind):
        return list(array.cast(pa.string()).to_pylist())
    return [_plain(value) for value in array.to_pylist()]


def json_value(scalar: Any) -> JsonValue:
    """One Arrow scalar as JSON has it; None for none."""
    return None if scalar is None else json_values(pa.repeat(scalar, 1))[0]


def arrow_floats(*values: float) -> pa.Array:
    """These numbers as an Arrow array; made of bytes, since `pa.array` and `pa.scalar` import pandas."""
    return pa.Array.from_buffers(
        pa.float64(), len(values), [None, pa.py_buffer(struct.pack(f"={len(values)}d", *values))]
    )


def arrow_integers(*values: int) -> pa.Array:
    """These 64-bit integers as an Arrow array; see `arrow_floats`."""
    return pa.Array.from_buffers(
        pa.int64(), len(values), [None, pa.py_buffer(struct.pack(f"={len(values)}q", *values))]
    )


def arrow_texts(texts: Sequence[str]) -> pa.Array:
    """These texts as an Arrow array; see `arrow_floats`."""
    encoded = [text.encode("utf-8", "replace") for text in texts]
    ends = arrow_integers(0, *accumulate(map(len, encoded)))
    return pa.Array.from_buffers(
        pa.large_string(), len(texts), [None, ends.buffers()[1], pa.py_buffer(b"".join(encoded))]
    )


def comparable_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with every column made comparable."""
    return pa.RecordBatch.from_arrays([comparable(column) for column in batch.columns], names=batch.schema.names)


def comparable(column: pa.Array) -> pa.Array:
    """The column in a form that Arrow can take from, compare and count.

    Decoded, NaN as null, durations as integers of their unit, extension types as what they are stored as.
    """
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return comparable(column.storage)
    if pa.types.is_dictionary(kind):
        return comparable(column.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return comparable(pc.run_end_decode(column))
    other = _easier_type(kind)
    if other is not None:
        column = column.cast(other)
    return _without_oddities(column) if pa.types.is_floating(column.type) else column


def is_comparable(kind: pa.DataType) -> bool:
    """Whether values of the type have an order, and so a least and a greatest."""
    return not (pa.types.is_nested(kind) or pa.types.is_null(kind) or pa.types.is_interval(kind))


def is_plain(kind: pa.DataType) -> bool:
    """Whether CSV can hold values of the type, so that they read as what they were."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    is_odd = is_bytes or pa.types.is_duration(kind) or isinstance(kind, pa.BaseExtensionType)
    return is_comparable(kind) and not is_odd and kind != pa.binary_view()


def is_number(kind: pa.DataType) -> bool:
    """Whether values of the type can be averaged."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether values of the type are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def stored_type(kind: pa.DataType) -> pa.DataType:
    """The integer type that dates and times are stored as; any other type itself."""
    if not pa.types.is_temporal(kind) or pa.types.is_interval(kind):
        return kind
    return pa.int32() if kind.bit_width == pa.int32().bit_width else pa.int64()


def _easier_type(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_duration(kind):
        return pa.int64()
    if kind == pa.string_view():
        return pa.large_string()
    if kind == pa.binary_view():
        return pa.large_binary()
    return _easier_decimal(kind) if pa.types.is_decimal(kind) else None


def _easier_decimal(kind: pa.DataType) -> pa.DataType | None:
    if kind.bit_width == _COMPARABLE_DECIMAL_BITS:
        return None
    # Wider ones are compared as floats: no engine here has numbers of that many digits.
    return pa.decimal128(kind.precision, kind.scale) if kind.bit_width < _COMPARABLE_DECIMAL_BITS else pa.float64()


def _without_oddities(column: pa.Array) -> pa.Array:
    """Floats with NaN as null, and with one zero: as values to count, 0.0 and -0.0 would be two."""
    # A zero made of bytes: a Python number would make Arrow import pandas.
    zero = pa.Array.from_buffers(column.type, 1, [None, pa.py_buffer(bytes(8))])[0]
    column = pc.add(column, zero)
    mask = pc.is_nan(column)
    if not pc.any(mask).as_py():
        return column
    return pc.if_else(mask, pa.nulls(1, column.type)[0], column)


def _iso(array: pa.Array) -> list[JsonValue]:
    zone = pa.types.is_timestamp(array.type) and array.type.tz is not None
    if zone:
        # By way of the integers, so that no time zone database is asked: the integers are UTC.
        array = array.cast(pa.int64()).cast(pa.timestamp(array.type.unit))
    texts = array.cast(pa.string()).to_pylist()
    if any(text is not None and text.startswith("<") for text in texts):
        # Beyond what a calendar reaches Arrow writes a sentence; the stored number says more.
        return [
            None if number is None else f"{number} since 1970"
            for number in array.cast(stored_type(array.type)).to_pylist()
        ]
    return [None if text is None else _trimmed(text.replace(" ", "T", 1)) + ("Z" if zone else "") for text in texts]


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _plain(value: Any) -> JsonValue:
    if isinstance(value, str):
        return shorten_end(value, _MOST_CHARACTERS)
    if isinstance(value, bytes):
        return shorten_end(value.hex(), _MOST_CHARACTERS)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else repr(value)
    plain: JsonValue = value
    return plain


def _as_json(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


# How often each value of a column occurs, batch by batch, as long as there are few.

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
