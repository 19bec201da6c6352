"""A schema as Pandera source: a module that a person can read and change, whose `schema` validates a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from flyteplugins_codegen.models.rules import Bound, ColumnSchema, Rule, TableSchema

_NUMBERS = 'pd.to_numeric(column, errors="coerce")'
_TIMES = 'pd.to_datetime(column, format="ISO8601", utc=True, errors="coerce")'


def render_schema(table: TableSchema) -> str:
    """The source of a module whose `schema` says of a DataFrame what the table's schema says of the file.

    The file is taken to be read by pandas with its defaults.
    """
    known = {column.name for column in table.columns}
    open_columns = dict.fromkeys(rule.column for rule in table.rules if rule.column not in known)
    columns = [*table.columns, *(ColumnSchema(name=name) for name in open_columns)]
    lines = "".join(f"        {_column(column, table)}\n" for column in columns)
    frame_checks = "".join(f"        {_frame_check(rule)},\n" for rule in table.rules if rule.kind == "order")
    checks = f"    checks=[\n{frame_checks}    ],\n" if frame_checks else ""
    body = f"schema = pa.DataFrameSchema(\n    {{\n{lines}    }},\n{checks}    strict=False,\n    coerce=False,\n)\n"
    return f"{'import pandas as pd' + chr(10) if 'pd.' in body else ''}import pandera.pandas as pa\n\n{body}"


def _column(column: ColumnSchema, table: TableSchema) -> str:
    rules = [rule for rule in table.rules if rule.column == column.name]
    kinds = {rule.kind for rule in rules}
    is_nullable = column.is_nullable and "not_null" not in kinds
    is_unique = column.is_unique or "unique" in kinds
    checks = [_CHECKS[rule.kind](rule, column) for rule in rules if rule.kind in _CHECKS]
    if is_unique and is_nullable:
        # Pandera's own check takes two nulls for a repeated value.
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
    return _check(" & ".join(_sides(rule, _NUMBERS)), rule)


def _whole_days(rule: Rule) -> str:
    """A bound without a time of day is a whole day."""
    bounds = [str(bound) for bound in (rule.minimum, rule.maximum) if bound is not None]
    return f"{_TIMES}.dt.normalize()" if all(len(bound) == len("2020-01-01") for bound in bounds) else _TIMES


def _named_checks(rule: Rule) -> list[str]:
    low = [f"pa.Check.{'gt' if rule.excludes_minimum else 'ge'}({rule.minimum!r})"] if rule.minimum is not None else []
    high = [f"pa.Check.{'lt' if rule.excludes_maximum else 'le'}({rule.maximum!r})"] if rule.maximum is not None else []
    return low + high


def _sides(rule: Rule, values: str) -> list[str]:
    low = (
        [f"({values} {'>' if rule.excludes_minimum else '>='} {_bound(rule.minimum)})"]
        if rule.minimum is not None
        else []
    )
    high = (
        [f"({values} {'<' if rule.excludes_maximum else '<='} {_bound(rule.maximum)})"]
        if rule.maximum is not None
        else []
    )
    return low + high


def _bound(bound: Bound | None) -> str:
    return f'pd.Timestamp({bound!r}, tz="UTC")' if isinstance(bound, str) else repr(bound)


def _check(expression: str, rule: Rule) -> str:
    return f"pa.Check(lambda column: {expression}, name={rule.text!r})"


def _one_of(rule: Rule, column: ColumnSchema) -> str:
    if column.pandas_dtype == "str":
        return f"pa.Check.isin({list(rule.values)!r})"
    return _check(_is_in(rule), rule)


def _none_of(rule: Rule, _column: ColumnSchema) -> str:
    return _check(f"~({_is_in(rule)})", rule)


def _is_in(rule: Rule) -> str:
    """By text, and by number where values are numbers: `1` is `1.0`."""
    numbers = [number for number in map(_number, rule.values) if number is not None]
    by_text = f"column.astype(str).isin({list(rule.values)!r})"
    return f"{by_text} | {_NUMBERS}.isin({numbers!r})" if numbers else by_text


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _matches(rule: Rule, _column: ColumnSchema) -> str:
    return _check(f"column.astype(str).str.fullmatch({rule.pattern!r})", rule)


def _length(rule: Rule, _column: ColumnSchema) -> str:
    return _check(" & ".join(_sides(rule, "column.astype(str).str.len()")), rule)


def _type(rule: Rule, _column: ColumnSchema) -> str:
    expressions = {
        "integer": f"{_NUMBERS} % 1 == 0",
        "number": f"{_NUMBERS}.notna()",
        "boolean": 'column.astype(str).str.lower().isin(["true", "false"])',
        "time": f"{_TIMES}.notna()",
        "text": "column.map(lambda cell: isinstance(cell, str))",
        "any": "column.notna()",
    }
    return _check(expressions[rule.type], rule)


_CHECKS: Mapping[str, Callable[[Rule, ColumnSchema], str]] = MappingProxyType(
    {
        "range": _range_check,
        "one_of": _one_of,
        "none_of": _none_of,
        "matches": _matches,
        "length": _length,
        "type": _type,
    }
)


def _frame_check(rule: Rule) -> str:
    one, other = f"frame[{rule.column!r}]", f"frame[{rule.other_column!r}]"
    holds = f"({one} {rule.comparison} {other}) | {one}.isna() | {other}.isna()"
    return f"pa.Check(lambda frame: {holds}, name={f'{rule.column} {rule.text}'!r})"
