"""Converts Arrow columns: to JSON values, and to types that Arrow and DuckDB can compare."""

from __future__ import annotations

import json
import math
import struct
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
    """Return the array's values as JSON values.

    Dates and times become ISO 8601 (with a zone: in UTC, with `Z` at the end; years beyond 9999 with all their digits),
    decimals text, bytes hex digits, infinities `"inf"` and `"-inf"`, nested values JSON text. Texts of more than 200
    characters are shortened, with a mark.
    """
    kind = array.type
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        return [None if value is None else _nested_json(value) for value in array.to_pylist()]
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        return _iso_texts(array)
    if pa.types.is_decimal(kind):
        return list(array.cast(pa.string()).to_pylist())
    return [_plain_value(value) for value in array.to_pylist()]


def json_value(scalar: Any) -> JsonValue:
    """Return one Arrow scalar, or None, as a JSON value."""
    return None if scalar is None else json_values(pa.repeat(scalar, 1))[0]


def arrow_floats(*values: float) -> pa.Array:
    """Return an Arrow array of these numbers, created from bytes because `pa.array` and `pa.scalar` import pandas."""
    return pa.Array.from_buffers(
        pa.float64(), len(values), [None, pa.py_buffer(struct.pack(f"={len(values)}d", *values))]
    )


def arrow_integers(*values: int) -> pa.Array:
    """Return an Arrow array of these 64-bit integers; see `arrow_floats`."""
    return pa.Array.from_buffers(
        pa.int64(), len(values), [None, pa.py_buffer(struct.pack(f"={len(values)}q", *values))]
    )


def arrow_texts(texts: Sequence[str]) -> pa.Array:
    """Return an Arrow array of these texts; see `arrow_floats`."""
    encoded = [text.encode("utf-8", "replace") for text in texts]
    ends = arrow_integers(0, *accumulate(map(len, encoded)))
    return pa.Array.from_buffers(
        pa.large_string(), len(texts), [None, ends.buffers()[1], pa.py_buffer(b"".join(encoded))]
    )


def comparable_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with every column in a comparable form."""
    return pa.RecordBatch.from_arrays([comparable(column) for column in batch.columns], names=batch.schema.names)


def comparable(column: pa.Array) -> pa.Array:
    """Return the column in a form that Arrow can slice, compare and count.

    Dictionaries are decoded, NaN becomes null, durations become integers of their unit, extension types their storage.
    """
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return comparable(column.storage)
    if pa.types.is_dictionary(kind):
        return comparable(column.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return comparable(pc.run_end_decode(column))
    simpler = _simpler_type(kind)
    if simpler is not None:
        column = column.cast(simpler)
    return _normalize_floats(column) if pa.types.is_floating(column.type) else column


def is_comparable(kind: pa.DataType) -> bool:
    """Return whether values of the type have an order."""
    return not (pa.types.is_nested(kind) or pa.types.is_null(kind) or pa.types.is_interval(kind))


def fits_csv(kind: pa.DataType) -> bool:
    """Return whether values of the type can be written as CSV and read back unchanged."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    is_odd = is_bytes or pa.types.is_duration(kind) or isinstance(kind, pa.BaseExtensionType)
    return is_comparable(kind) and not is_odd and kind != pa.binary_view()


def is_number(kind: pa.DataType) -> bool:
    """Return whether values of the type can be averaged."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_text(kind: pa.DataType) -> bool:
    """Return whether values of the type are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def stored_type(kind: pa.DataType) -> pa.DataType:
    """Return the integer type that dates and times are stored as; any other type unchanged."""
    if not pa.types.is_temporal(kind) or pa.types.is_interval(kind):
        return kind
    return pa.int32() if kind.bit_width == pa.int32().bit_width else pa.int64()


def _simpler_type(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_duration(kind):
        return pa.int64()
    if kind == pa.string_view():
        return pa.large_string()
    if kind == pa.binary_view():
        return pa.large_binary()
    return _simpler_decimal(kind) if pa.types.is_decimal(kind) else None


def _simpler_decimal(kind: pa.DataType) -> pa.DataType | None:
    if kind.bit_width == _COMPARABLE_DECIMAL_BITS:
        return None
    # Neither Arrow's functions nor DuckDB support wider decimals, so they become floats.
    return pa.decimal128(kind.precision, kind.scale) if kind.bit_width < _COMPARABLE_DECIMAL_BITS else pa.float64()


def _normalize_floats(column: pa.Array) -> pa.Array:
    """Replace NaN by null and -0.0 by 0.0, which would be counted as two values."""
    # The zero is created from bytes because a Python number would make Arrow import pandas.
    zero = pa.Array.from_buffers(column.type, 1, [None, pa.py_buffer(bytes(8))])[0]
    column = pc.add(column, zero)
    mask = pc.is_nan(column)
    if not pc.any(mask).as_py():
        return column
    return pc.if_else(mask, pa.nulls(1, column.type)[0], column)


def _iso_texts(array: pa.Array) -> list[JsonValue]:
    zone = pa.types.is_timestamp(array.type) and array.type.tz is not None
    if zone:
        # Through integers, which are UTC, so that no time zone database is needed.
        array = array.cast(pa.int64()).cast(pa.timestamp(array.type.unit))
    texts = array.cast(pa.string()).to_pylist()
    if any(text is not None and text.startswith("<") for text in texts):
        # For dates beyond its calendar Arrow writes a sentence; the stored number is more useful.
        return [
            None if number is None else f"{number} since 1970"
            for number in array.cast(stored_type(array.type)).to_pylist()
        ]
    return [
        None if text is None else _trim_fraction(text.replace(" ", "T", 1)) + ("Z" if zone else "") for text in texts
    ]


def _trim_fraction(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _plain_value(value: Any) -> JsonValue:
    if isinstance(value, str):
        return shorten_end(value, _MOST_CHARACTERS)
    if isinstance(value, bytes):
        return shorten_end(value.hex(), _MOST_CHARACTERS)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else repr(value)
    plain: JsonValue = value
    return plain


def _nested_json(value: Any) -> str:
    return shorten_end(json.dumps(value, default=str, ensure_ascii=False), _MOST_CHARACTERS)
