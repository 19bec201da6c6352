"""Values for a profile: JSON-safe, the same at every run, and never cut without a mark."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import JsonValue

from flyteplugins_codegen.data.texts import shorten

_MOST_CHARACTERS = 200
_COMPARABLE_DECIMAL_BITS = 128


def json_values(array: pa.Array) -> list[JsonValue]:
    """The array's values as JSON has them.

    Dates and times are ISO 8601 (with a zone: in UTC, `Z` at the end), decimals text, bytes hex digits, infinities
    `"inf"` and `"-inf"`, nested values JSON text. Texts of more than 200 characters are shortened, with a mark.
    """
    kind = array.type
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        return [None if value is None else shorten(_as_json(value), _MOST_CHARACTERS) for value in array.to_pylist()]
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        return _iso(array)
    if pa.types.is_decimal(kind):
        return list(array.cast(pa.string()).to_pylist())
    return [_plain(value) for value in array.to_pylist()]


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


def _easier_type(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_duration(kind):
        return pa.int64()
    if kind == pa.string_view():
        return pa.large_string()
    if kind == pa.binary_view():
        return pa.large_binary()
    is_small_decimal = pa.types.is_decimal(kind) and kind.bit_width < _COMPARABLE_DECIMAL_BITS
    return pa.decimal128(kind.precision, kind.scale) if is_small_decimal else None


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
    return [None if text is None else _trimmed(text.replace(" ", "T", 1)) + ("Z" if zone else "") for text in texts]


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _plain(value: Any) -> JsonValue:
    if isinstance(value, str):
        return shorten(value, _MOST_CHARACTERS)
    if isinstance(value, bytes):
        return shorten(value.hex(), _MOST_CHARACTERS)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else repr(value)
    plain: JsonValue = value
    return plain


def _as_json(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)
