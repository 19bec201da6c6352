"""Infers a schema from a profile; it contains only what is certain."""

from __future__ import annotations

import re

from pydantic import JsonValue

from flyteplugins_codegen.models.data import ColumnProfile, ColumnSchema, ColumnType, SampleProfile, TableSchema

_KEY_NAME = re.compile(r"(?:^|_)(?:id|key|uuid|guid|date|day|datetime|timestamp)$")
_LARGEST_EXACT_FLOAT = 2**53
# Arrow types of Parquet and Arrow files, and the types that pandas reads them as.
_SAME_IN_PANDAS = {
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float": "float32",
    "double": "float64",
    "bool": "bool",
}
# Names of columns that `pandas.read_json` may convert to dates.
_JSON_DATE_NAME = re.compile(r"_at$|_time$|^timestamp|^modified$|^date$", re.IGNORECASE)


def infer_schema(profile: SampleProfile) -> TableSchema | None:
    """Return the columns, types, nullability, and uniqueness of columns that are named like a key.

    A type that readers may read differently is left open. Returns None for a sample without columns, and for one with
    rows of the wrong length, which every reader handles in its own way.
    """
    if not profile.columns or profile.skipped_row_count:
        return None
    return TableSchema(columns=tuple(_column(column, profile) for column in profile.columns.values()))


def _column(column: ColumnProfile, profile: SampleProfile) -> ColumnSchema:
    has_values = bool(profile.row_count) and column.null_count < (profile.row_count or 0)
    return ColumnSchema(
        name=column.name,
        type=_cell_type(column, profile) if has_values else "any",
        is_nullable=bool(column.null_count) or not profile.row_count,
        is_unique=column.is_unique and _looks_like_key(column),
        # A JSON object may omit a name, and for pandas an index that it wrote is not a column.
        is_required=not column.is_index and not (column.null_count and profile.format in {"json", "jsonl"}),
        pandas_dtype=_dtype(column, profile) if has_values else None,
    )


def _cell_type(column: ColumnProfile, profile: SampleProfile) -> ColumnType:
    kind = column.arrow_type
    if re.fullmatch(r"u?int\d+", kind):
        return "integer"
    if kind in {"float", "double", "halffloat"} or kind.startswith("decimal"):
        return "number"
    if kind == "bool":
        return "boolean"
    if kind.startswith(("timestamp", "date32", "date64")):
        return "time"
    # In delimited text every cell is a text, whatever it looks like.
    is_text = kind in {"string", "large_string", "string_view"} and profile.format not in {"csv", "json", "jsonl"}
    return "text" if is_text else "any"


def _looks_like_key(column: ColumnProfile) -> bool:
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s.-]+", "_", column.name.strip()).lower()
    return _KEY_NAME.search(snake) is not None and column.arrow_type not in ("double", "float", "bool")


def _dtype(column: ColumnProfile, profile: SampleProfile) -> str | None:
    """Return the source of the column's pandas type; None if it is not certain which type pandas will choose."""
    if profile.format == "csv":
        return _csv_dtype(column)
    if profile.format in ("json", "jsonl"):
        return _json_dtype(column)
    return _typed_dtype(column)


def _csv_dtype(column: ColumnProfile) -> str | None:
    if column.arrow_type == "int64":
        return '"float64"' if column.null_count else '"int64"'
    if column.arrow_type == "double":
        return '"float64"' if _is_surely_float(column) else None
    if column.arrow_type == "bool":
        return None if column.null_count else '"bool"'
    # pandas reads dates and times as text. If the least text is a number, some chunks may be read as numbers.
    return None if _is_number(column.minimum) else "str"


def _is_surely_float(column: ColumnProfile) -> bool:
    """Return False for `+5` and numbers beyond 64 bits: floats for Arrow, integers or text for pandas."""
    extremes = [value for value in (column.minimum, column.maximum) if isinstance(value, float)]
    if len(extremes) < 2:  # noqa: PLR2004 - an infinity, which is a text here, may be `1e400`
        return False
    if any(not value.is_integer() for value in extremes):
        return True
    return bool(column.null_count) and all(abs(value) < _LARGEST_EXACT_FLOAT for value in extremes)


def _json_dtype(column: ColumnProfile) -> str | None:
    """Return the type if it is certain: `read_json` converts texts and whole floats, and columns by their names."""
    if column.null_count or _JSON_DATE_NAME.search(column.name):
        return None
    return {"int64": '"int64"', "bool": '"bool"'}.get(column.arrow_type)


def _typed_dtype(column: ColumnProfile) -> str | None:
    if column.arrow_type in ("string", "large_string"):
        return "str" if column.pandas_dtype in (None, "object", "str") else None
    if column.arrow_type.startswith("dictionary<"):
        return '"category"'
    dtype = _SAME_IN_PANDAS.get(column.arrow_type) or _temporal(column.arrow_type)
    # pandas stores the type of a time stamp without its zone.
    if dtype is None or column.pandas_dtype not in {None, dtype, re.sub(", .*]", "]", dtype)}:
        return None
    # With nulls, integers become floats and booleans become objects.
    has_no_null = "int" in dtype or dtype == "bool"
    return None if column.null_count and has_no_null else f'"{dtype}"'


def _temporal(arrow_type: str) -> str | None:
    """Return the pandas type of a time stamp or duration, with the same unit and zone."""
    match = re.fullmatch(r"(timestamp|duration)\[(s|ms|us|ns)(?:, tz=([\w/+-]+))?\]", arrow_type)
    if match is None:
        return None
    zone = f", {match[3]}" if match[3] else ""
    return f"{'datetime64' if match[1] == 'timestamp' else 'timedelta64'}[{match[2]}{zone}]"


def _is_number(value: JsonValue) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True
