"""Pandera schemas as Python source, inferred from a profile: only what the sample shows beyond doubt."""

from __future__ import annotations

import re

from pydantic import JsonValue

from flyteplugins_codegen.models.profile import ColumnProfile, SampleProfile

_KEY_NAME = re.compile(r"(?:^|_)(?:id|key|uuid|guid|date|day|datetime|timestamp)$")
_LARGEST_EXACT_FLOAT = 2**53
# Arrow's names of the types that pandas reads from Parquet and Arrow files as its own of the same meaning.
_SAME_IN_PANDAS = {
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float": "float32",
    "double": "float64",
    "bool": "bool",
}
# Columns that `pandas.read_json` may turn into dates by their names alone.
_JSON_DATE_NAME = re.compile(r"_at$|_time$|^timestamp|^modified$|^date$", re.IGNORECASE)


def infer_schema(profile: SampleProfile) -> str | None:
    """The source of a module whose `schema` the sample satisfies, read by pandas with its defaults.

    The schema says types, nullability, and uniqueness of columns that are named like keys. It says nothing of a type
    that pandas may read in more than one way. None for a sample without columns, and for one with rows of the wrong
    length, of which pandas makes something else, or nothing.
    """
    if not profile.columns or profile.skipped_row_count:
        return None
    columns = "".join(f"        {_column(column, profile)}\n" for column in profile.columns.values())
    return (
        "import pandera.pandas as pa\n\n"
        "schema = pa.DataFrameSchema(\n"
        f"    {{\n{columns}    }},\n"
        "    strict=False,\n"
        "    coerce=False,\n"
        ")\n"
    )


def _column(column: ColumnProfile, profile: SampleProfile) -> str:
    dtype = _dtype(column, profile) if profile.row_count else None
    arguments = [] if dtype is None else [dtype]
    if column.null_count or not profile.row_count:
        arguments.append("nullable=True")
    if column.is_unique and _looks_like_key(column):
        arguments.append("unique=True")
    if column.is_index:
        arguments.append("required=False")  # pandas makes it the index, other readers a column
    return f"{column.name!r}: pa.Column({', '.join(arguments)}),"


def _looks_like_key(column: ColumnProfile) -> bool:
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s.-]+", "_", column.name.strip()).lower()
    return _KEY_NAME.search(snake) is not None and column.arrow_type not in ("double", "float", "bool")


def _dtype(column: ColumnProfile, profile: SampleProfile) -> str | None:
    """The column's type as source, None where pandas' choice is not certain."""
    if column.null_count == profile.row_count:
        return None
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
    # Dates and times arrive as text. Text whose least value is a number may be mixed, chunk by chunk, with numbers.
    return None if _is_number(column.minimum) else "str"


def _is_surely_float(column: ColumnProfile) -> bool:
    """Not `+5` or a number beyond 64 bits, which Arrow takes for floats and pandas for integers or text."""
    extremes = [value for value in (column.minimum, column.maximum) if isinstance(value, float)]
    if len(extremes) < 2:  # noqa: PLR2004  an infinity, which is text here, may be `1e400`
        return False
    if any(not value.is_integer() for value in extremes):
        return True
    return bool(column.null_count) and all(abs(value) < _LARGEST_EXACT_FLOAT for value in extremes)


def _json_dtype(column: ColumnProfile) -> str | None:
    """`read_json` turns texts and whole floats into what they look like, and some names into dates."""
    if column.null_count or _JSON_DATE_NAME.search(column.name):
        return None
    return {"int64": '"int64"', "bool": '"bool"'}.get(column.arrow_type)


def _typed_dtype(column: ColumnProfile) -> str | None:
    if column.arrow_type in ("string", "large_string"):
        return "str" if column.pandas_dtype in (None, "object", "str") else None
    dtype = _SAME_IN_PANDAS.get(column.arrow_type) or _temporal(column.arrow_type)
    if dtype is None or column.pandas_dtype not in (None, dtype):
        return None
    # Integers with nulls become floats, booleans objects.
    has_no_null = "int" in dtype or dtype == "bool"
    return None if column.null_count and has_no_null else f'"{dtype}"'


def _temporal(arrow_type: str) -> str | None:
    """The pandas type of the same unit of a time stamp or duration; None for one with a zone."""
    found = re.fullmatch(r"(timestamp|duration)\[(s|ms|us|ns)\]", arrow_type)
    if found is None:
        return None
    return f"{'datetime64' if found[1] == 'timestamp' else 'timedelta64'}[{found[2]}]"


def _is_number(value: JsonValue) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True
