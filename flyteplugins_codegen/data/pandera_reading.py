"""A schema that a user gives, as a Pandera object or as our own data, turned into what is checked everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from flyteplugins_codegen.data.constraints.patterns import checked_pattern
from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.models.rules import ColumnSchema, ColumnType, Rule, TableSchema

_KINDS: tuple[tuple[tuple[str, ...], ColumnType], ...] = (
    (("int", "uint"), "integer"),
    (("float", "decimal", "complex"), "number"),
    (("bool",), "boolean"),
    (("datetime", "date", "timestamp"), "time"),
)


def read_schema(name: str, given: Any) -> TableSchema:
    """The schema of the sample or output `name`: Pandera's DataFrameSchema or DataFrameModel, our own, or its JSON.

    Of Pandera: columns, types, `nullable`, `unique`, `required`, and the built-in checks `gt ge lt le eq ne in_range
    isin notin str_matches str_length`. Other checks are code, which does not run where a solution's data are checked.

    Raises RequestError naming what cannot be taken over.
    """
    if isinstance(given, TableSchema):
        return given
    if isinstance(given, Mapping):
        return _from_json(name, given)
    # A DataFrameModel is a class that makes its schema.
    schema = given.to_schema() if hasattr(given, "to_schema") else given
    if not hasattr(schema, "columns") or not hasattr(schema, "checks"):
        raise RequestError(
            f"schemas[{name!r}]: {type(given).__name__} is no schema; pass a pandera DataFrameSchema or DataFrameModel"
        )
    if schema.checks:
        raise RequestError(f"schemas[{name!r}]: a check of the whole table is code; write it as a constraint in words")
    columns = tuple(_column(column) for column in schema.columns.values())
    rules = tuple(rule for column in schema.columns.values() for rule in _rules(name, column))
    return TableSchema(columns=columns, rules=rules)


def _from_json(name: str, given: Mapping[str, Any]) -> TableSchema:
    try:
        return TableSchema.from_validator(given)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        where = ".".join(map(str, wrong["loc"]))
        raise RequestError(f"schemas[{name!r}]: {where}: {wrong['msg']}") from error


def _column(column: Any) -> ColumnSchema:
    dtype = "" if column.dtype is None else str(column.dtype)
    kind = next((kind for starts, kind in _KINDS if dtype.lower().startswith(starts)), "any")
    return ColumnSchema(
        name=str(column.name),
        type=kind,
        is_nullable=bool(column.nullable),
        is_unique=bool(column.unique),
        is_required=bool(column.required),
        pandas_dtype=None if kind == "any" else f'"{dtype}"',
    )


def _rules(name: str, column: Any) -> Iterator[Rule]:
    for check in column.checks:
        terms = _TERMS.get(str(check.name))
        if terms is None:
            raise RequestError(
                f"schemas[{name!r}]: column {column.name!r} has the check {check.name or check!r}, which is code; "
                f"use one of {', '.join(_TERMS)}, or a constraint in words"
            )
        try:
            yield Rule(column=str(column.name), **terms(check.statistics))
        except ValueError as error:
            raise RequestError(f"schemas[{name!r}]: column {column.name!r}: {error}") from error


def _bounds(statistics: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "range",
        "minimum": _plain(statistics["min_value"]),
        "maximum": _plain(statistics["max_value"]),
        "excludes_minimum": not statistics["include_min"],
        "excludes_maximum": not statistics["include_max"],
    }


def _length(statistics: Mapping[str, Any]) -> dict[str, Any]:
    exact = statistics.get("exact_value")
    ends = (exact, exact) if exact is not None else (statistics["min_value"], statistics["max_value"])
    return {"kind": "length", "minimum": ends[0], "maximum": ends[1]}


def _plain(bound: Any) -> Any:
    return bound.isoformat() if hasattr(bound, "isoformat") else bound


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(sorted(map(str, values)))


_TERMS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = MappingProxyType(
    {
        "greater_than": lambda of: {"kind": "range", "minimum": _plain(of["min_value"]), "excludes_minimum": True},
        "greater_than_or_equal_to": lambda of: {"kind": "range", "minimum": _plain(of["min_value"])},
        "less_than": lambda of: {"kind": "range", "maximum": _plain(of["max_value"]), "excludes_maximum": True},
        "less_than_or_equal_to": lambda of: {"kind": "range", "maximum": _plain(of["max_value"])},
        "in_range": _bounds,
        "equal_to": lambda of: {"kind": "one_of", "values": (str(of["value"]),)},
        "not_equal_to": lambda of: {"kind": "none_of", "values": (str(of["value"]),)},
        "isin": lambda of: {"kind": "one_of", "values": _texts(of["allowed_values"])},
        "notin": lambda of: {"kind": "none_of", "values": _texts(of["forbidden_values"])},
        # Pandera's matches from the beginning, ours from end to end.
        "str_matches": lambda of: {"kind": "matches", "pattern": f"(?:{_pattern(of['pattern'])})[\\s\\S]*"},
        "str_length": _length,
    }
)


def _pattern(pattern: Any) -> str:
    return checked_pattern(getattr(pattern, "pattern", str(pattern)))
