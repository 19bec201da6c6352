"""Pandera schemas: written as the source of a module, and read from the objects that a user passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from flyteplugins_codegen.data.constraints.terms import checked_pattern
from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.models.data import Bound, ColumnSchema, ColumnType, Rule, TableSchema
from flyteplugins_codegen.portable.validator import NUMERALS, instant_reader, number_reader

# In the rendered module, for cells that are written as their rule's notation says.
_READ_NUMBERS = f'''
_NUMERALS = {dict(NUMERALS)!r}


def _numbers(column, mark):
    """The numbers that texts such as `$1,200.50`, `5%` or `1.200,50` spell; NaN for any other text."""
    if pd.api.types.is_numeric_dtype(column):
        return column
    parts = column.astype(str).astype(object).str.strip().str.extract(f"^{{_NUMERALS[mark]}}$")
    whole, fraction = parts[2].str.replace(r"[^0-9]", "", regex=True).replace("", "0"), parts[3].fillna("0")
    sign = (parts[0].str.strip("+").fillna("") != "") ^ (parts[1].str.strip("+").fillna("") != "")
    numbers = pd.to_numeric(whole + "." + fraction, errors="coerce")
    read = numbers.where(~sign, -numbers)
    return read if mark == "," else read.fillna(pd.to_numeric(column, errors="coerce"))
'''
_READ_TIMES = '''

def _times(column, notation):
    """The times that texts of the notation, or of ISO 8601, spell; NaT for any other text."""
    texts = column.astype(str).astype(object).str.strip()
    written = pd.to_datetime(texts, format=notation, utc=True, errors="coerce")
    return written.fillna(pd.to_datetime(column, format="ISO8601", utc=True, errors="coerce"))
'''


def render_schema(table: TableSchema) -> str:
    """Return the source of a Python module whose `schema` validates a DataFrame as the table's schema validates a file.

    The DataFrame must be read by pandas with its defaults.
    """
    known = {column.name for column in table.columns}
    open_columns = dict.fromkeys(rule.column for rule in table.rules if rule.column not in known)
    columns = [*table.columns, *(ColumnSchema(name=name) for name in open_columns)]
    lines = "".join(f"        {_column_source(column, table)}\n" for column in columns)
    frame_checks = "".join(f"        {_frame_check(rule)},\n" for rule in table.rules if rule.kind == "order")
    checks = f"    checks=[\n{frame_checks}    ],\n" if frame_checks else ""
    body = f"schema = pa.DataFrameSchema(\n    {{\n{lines}    }},\n{checks}    strict=False,\n    coerce=False,\n)\n"
    helpers = (_READ_NUMBERS if "_numbers(" in body else "") + (_READ_TIMES if "_times(" in body else "")
    body = f"{helpers.lstrip(chr(10))}\n\n{body}" if helpers else body
    return f"{'import pandas as pd' + chr(10) if 'pd.' in body else ''}import pandera.pandas as pa\n\n{body}"


def _numbers(rule: Rule, column: str = "column", notation: str | None = None) -> str:
    """Return the expression of the column's cells as numbers."""
    notation = rule.notation if notation is None else notation
    return f"_numbers({column}, {notation!r})" if notation in NUMERALS else f'pd.to_numeric({column}, errors="coerce")'


def _times(rule: Rule, column: str = "column", notation: str | None = None) -> str:
    """Return the expression of the column's cells as times."""
    notation = rule.notation if notation is None else notation
    if notation.startswith("%"):
        return f"_times({column}, {notation!r})"
    return f'pd.to_datetime({column}, format="ISO8601", utc=True, errors="coerce")'


def _column_source(column: ColumnSchema, table: TableSchema) -> str:
    rules = [rule for rule in table.rules if rule.column == column.name]
    kinds = {rule.kind for rule in rules}
    is_nullable = column.is_nullable and "not_null" not in kinds
    is_unique = column.is_unique or "unique" in kinds
    checks = [_CHECKS[rule.kind](rule, column) for rule in rules if rule.kind in _CHECKS]
    if is_unique and is_nullable:
        # Pandera's own check counts two nulls as a repeated value.
        checks.append('pa.Check(lambda column: ~column.duplicated(), name="unique")')
    arguments = [
        column.pandas_dtype,
        f"checks=[{', '.join(checks)}]" if checks else None,
        "nullable=True" if is_nullable else None,
        "unique=True" if is_unique and not is_nullable else None,
        None if column.is_required else "required=False",
    ]
    return f"{column.name!r}: pa.Column({', '.join(filter(None, arguments))}),"


def _range_check(rule: Rule, column: ColumnSchema) -> str:
    if isinstance(rule.minimum if rule.minimum is not None else rule.maximum, str):
        return _check(" & ".join(_sides(rule, _whole_days(rule))), rule)
    if column.type in {"integer", "number"} and column.pandas_dtype:
        return ", ".join(_named_checks(rule))
    return _check(" & ".join(_sides(rule, _numbers(rule))), rule)


def _whole_days(rule: Rule) -> str:
    """Return the expression of the times; of their days if all bounds are days."""
    bounds = [str(bound) for bound in (rule.minimum, rule.maximum) if bound is not None]
    times = _times(rule)
    return f"{times}.dt.normalize()" if all(len(bound) == len("2020-01-01") for bound in bounds) else times


def _named_checks(rule: Rule) -> list[str]:
    checks = []
    if rule.minimum is not None:
        checks.append(f"pa.Check.{'gt' if rule.excludes_minimum else 'ge'}({rule.minimum!r})")
    if rule.maximum is not None:
        checks.append(f"pa.Check.{'lt' if rule.excludes_maximum else 'le'}({rule.maximum!r})")
    return checks


def _sides(rule: Rule, values: str) -> list[str]:
    sides = []
    if rule.minimum is not None:
        sides.append(f"({values} {'>' if rule.excludes_minimum else '>='} {_bound(rule.minimum)})")
    if rule.maximum is not None:
        sides.append(f"({values} {'<' if rule.excludes_maximum else '<='} {_bound(rule.maximum)})")
    return sides


def _bound(bound: Bound | None) -> str:
    return f'pd.Timestamp({bound!r}, tz="UTC")' if isinstance(bound, str) else repr(bound)


def _check(expression: str, rule: Rule) -> str:
    return f"pa.Check(lambda column: {expression}, name={rule.text!r})"


def _one_of_check(rule: Rule, column: ColumnSchema) -> str:
    if column.pandas_dtype == "str":
        return f"pa.Check.isin({list(rule.values)!r})"
    return _check(_is_in(rule), rule)


def _none_of_check(rule: Rule, _column: ColumnSchema) -> str:
    return _check(f"~({_is_in(rule)})", rule)


def _is_in(rule: Rule) -> str:
    """Return a comparison by text, and also by number or time if some values are such, so that `1` equals `1.0`."""
    by_text = f"column.astype(str).isin({list(rule.values)!r})"
    # A value is written plainly, or as the cells are.
    numbers = _read_values(rule, number_reader(rule.notation), number_reader(""))
    if numbers:
        return f"{by_text} | {_numbers(rule)}.isin({numbers!r})"
    instants = _read_values(rule, instant_reader(rule.notation), instant_reader("")) if "%" in rule.notation else []
    moments = ", ".join(f"pd.Timestamp({instant.isoformat()!r})" for instant in instants)
    return f"{by_text} | {_times(rule)}.isin([{moments}])" if moments else by_text


def _read_values(rule: Rule, *readers: Callable[[Any], Any]) -> list[Any]:
    read = (reader(text) for text in rule.values for reader in readers)
    return list(dict.fromkeys(value for value in read if value is not None))


def _matches_check(rule: Rule, _column: ColumnSchema) -> str:
    return _check(f"column.astype(str).str.fullmatch({rule.pattern!r})", rule)


def _length_check(rule: Rule, _column: ColumnSchema) -> str:
    return _check(" & ".join(_sides(rule, "column.astype(str).str.len()")), rule)


def _type_check(rule: Rule, _column: ColumnSchema) -> str:
    truth_words = ["true", "false", "t", "f", "yes", "no", "y", "n", "1", "0", "1.0", "0.0"]
    expressions = {
        "integer": f"{_numbers(rule)} % 1 == 0",
        "number": f"{_numbers(rule)}.notna()",
        "boolean": f"column.astype(str).str.strip().str.lower().isin({truth_words!r})",
        "time": f"{_times(rule)}.notna()",
        "text": "column.map(lambda cell: isinstance(cell, str))",
        "any": "column.notna()",
    }
    return _check(expressions[rule.type], rule)


_CHECKS: Mapping[str, Callable[[Rule, ColumnSchema], str]] = MappingProxyType(
    {
        "range": _range_check,
        "one_of": _one_of_check,
        "none_of": _none_of_check,
        "matches": _matches_check,
        "length": _length_check,
        "type": _type_check,
    }
)


def _frame_check(rule: Rule) -> str:
    one, other = f"frame[{rule.column!r}]", f"frame[{rule.other_column!r}]"
    notations = rule.notation, rule.other_notation
    read = _times if any(notation.startswith("%") for notation in notations) else _numbers if any(notations) else None
    sides = (read(rule, one, notations[0]), read(rule, other, notations[1])) if read else (one, other)
    holds = f"({sides[0]} {rule.comparison} {sides[1]}) | {one}.isna() | {other}.isna()"
    return f"pa.Check(lambda frame: {holds}, name={f'{rule.column} {rule.text}'!r})"


# --- reading ---

_TYPES_BY_PREFIX: tuple[tuple[tuple[str, ...], ColumnType], ...] = (
    (("int", "uint"), "integer"),
    (("float", "decimal", "complex"), "number"),
    (("bool",), "boolean"),
    (("datetime", "date", "timestamp"), "time"),
)


def read_schema(name: str, value: Any) -> TableSchema:
    """Convert the schema of the sample or output `name` to a TableSchema.

    `value` is a Pandera DataFrameSchema or DataFrameModel, a TableSchema, or its JSON. Pandera's columns, types,
    `nullable`, `unique`, `required`, and the built-in checks `gt ge lt le eq ne in_range isin notin str_matches
    str_length` are converted. Other checks are code, which cannot run where a solution's data are validated.

    Raises:
        RequestError: a part of the schema cannot be converted; the message names it.
    """
    if isinstance(value, TableSchema):
        return value
    if isinstance(value, Mapping):
        return _read_json(name, value)
    # A DataFrameModel is a class that returns its schema.
    schema = value.to_schema() if hasattr(value, "to_schema") else value
    if not hasattr(schema, "columns") or not hasattr(schema, "checks"):
        raise RequestError(
            f"schemas[{name!r}]: {type(value).__name__} is no schema; pass a pandera DataFrameSchema or DataFrameModel"
        )
    if schema.checks:
        raise RequestError(f"schemas[{name!r}]: a check of the whole table is code; write it as a constraint in words")
    columns = tuple(_read_column(column) for column in schema.columns.values())
    rules = tuple(rule for column in schema.columns.values() for rule in _read_checks(name, column))
    return TableSchema(columns=columns, rules=rules)


def _read_json(name: str, value: Mapping[str, Any]) -> TableSchema:
    try:
        return TableSchema.from_validator(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        location = ".".join(map(str, first["loc"]))
        raise RequestError(f"schemas[{name!r}]: {location}: {first['msg']}") from error


def _read_column(column: Any) -> ColumnSchema:
    dtype = "" if column.dtype is None else str(column.dtype)
    kind = next((kind for prefixes, kind in _TYPES_BY_PREFIX if dtype.lower().startswith(prefixes)), "any")
    return ColumnSchema(
        name=str(column.name),
        type=kind,
        is_nullable=bool(column.nullable),
        is_unique=bool(column.unique),
        is_required=bool(column.required),
        pandas_dtype=None if kind == "any" else f'"{dtype}"',
    )


def _read_checks(name: str, column: Any) -> Iterator[Rule]:
    for check in column.checks:
        convert = _CONVERTERS.get(str(check.name))
        if convert is None:
            raise RequestError(
                f"schemas[{name!r}]: column {column.name!r} has the check {check.name or check!r}, which is code; "
                f"use one of {', '.join(_CONVERTERS)}, or a constraint in words"
            )
        try:
            yield Rule(column=str(column.name), **convert(check.statistics))
        except ValueError as error:
            raise RequestError(f"schemas[{name!r}]: column {column.name!r}: {error}") from error


def _read_range(statistics: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "range",
        "minimum": _plain(statistics["min_value"]),
        "maximum": _plain(statistics["max_value"]),
        "excludes_minimum": not statistics["include_min"],
        "excludes_maximum": not statistics["include_max"],
    }


def _read_length(statistics: Mapping[str, Any]) -> dict[str, Any]:
    exact = statistics.get("exact_value")
    ends = (exact, exact) if exact is not None else (statistics["min_value"], statistics["max_value"])
    return {"kind": "length", "minimum": ends[0], "maximum": ends[1]}


def _plain(bound: Any) -> Any:
    return bound.isoformat() if hasattr(bound, "isoformat") else bound


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(sorted(map(str, values)))


_CONVERTERS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = MappingProxyType(
    {
        "greater_than": lambda values: {
            "kind": "range",
            "minimum": _plain(values["min_value"]),
            "excludes_minimum": True,
        },
        "greater_than_or_equal_to": lambda values: {"kind": "range", "minimum": _plain(values["min_value"])},
        "less_than": lambda values: {"kind": "range", "maximum": _plain(values["max_value"]), "excludes_maximum": True},
        "less_than_or_equal_to": lambda values: {"kind": "range", "maximum": _plain(values["max_value"])},
        "in_range": _read_range,
        "equal_to": lambda values: {"kind": "one_of", "values": (str(values["value"]),)},
        "not_equal_to": lambda values: {"kind": "none_of", "values": (str(values["value"]),)},
        "isin": lambda values: {"kind": "one_of", "values": _texts(values["allowed_values"])},
        "notin": lambda values: {"kind": "none_of", "values": _texts(values["forbidden_values"])},
        # Pandera matches from the beginning of a text, a rule matches the whole text.
        "str_matches": lambda values: {"kind": "matches", "pattern": f"(?:{_pattern(values['pattern'])})[\\s\\S]*"},
        "str_length": _read_length,
    }
)


def _pattern(pattern: Any) -> str:
    return checked_pattern(getattr(pattern, "pattern", str(pattern)))
