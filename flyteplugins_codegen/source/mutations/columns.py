"""Changes of columns: the name of another column, of the same table and used in the same way, for that of one."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from flyteplugins_codegen.source.mutations.change import Change, Place, replaced
from flyteplugins_codegen.source.python import last_name

_KEYED_CALLS: Final = frozenset(
    {"groupby", "group_by", "sort_values", "drop_duplicates", "set_index", "nlargest", "nsmallest"}
)
_NUMERIC: Final = frozenset(
    {"sum", "mean", "median", "max", "min", "std", "round", "cumsum", "diff", "quantile", "abs", "rolling", "nlargest"}
    | {"int", "float", "Decimal", "Fraction", "to_numeric", "pct_change", "idxmax", "idxmin", "between", "clip"}
)


class _Use(NamedTuple):
    """A column's name at one place: of which variable, and what its values are taken for."""

    name: str
    table: str
    role: str


def column_changes(place: Place, node: ast.AST) -> Iterator[Change]:
    """For a column's name, the next one by the alphabet of those that the same table has for the same use."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    use = _use_of(place, node)
    if use is None:
        return
    ordered = place.columns[use.table, use.role]
    by = ordered[(ordered.index(node.value) + 1) % len(ordered)]
    beside = place.parent(node)
    is_there = isinstance(beside, ast.List) and any(ast.dump(key) == ast.dump(ast.Constant(by)) for key in beside.elts)
    if by != node.value and not is_there:
        yield replaced("column", node, repr(by))


def with_columns(place: Place) -> Place:
    """The place with the names of its columns, sorted."""
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    for node in ast.walk(place.root):
        use = _use_of(place, node) if isinstance(node, ast.Constant) else None
        if use is not None:
            names[use.table, use.role].add(use.name)
    return place._replace(columns={use: sorted(found) for use, found in names.items()})


def _use_of(place: Place, node: ast.Constant) -> _Use | None:
    parent = place.parent(node)
    if not isinstance(node.value, str):
        return None
    if isinstance(parent, ast.Subscript):
        is_read = parent.slice is node and isinstance(parent.ctx, ast.Load)
        return _Use(node.value, _table(parent.value), _role(place, parent)) if is_read else None
    if isinstance(parent, ast.Tuple):
        return _use_in_aggregate(place, node, parent)
    if isinstance(parent, ast.List):
        parent = place.parent(parent)
    if isinstance(parent, ast.keyword) and parent.arg in {"by", "subset"}:
        parent = place.parent(parent)
    return _use_in_call(place, node, parent) if isinstance(parent, ast.Call) else None


def _use_in_call(place: Place, node: ast.Constant, call: ast.Call) -> _Use | None:
    """The column of `row.get("a")`, of `pl.col("a")`, or one of the keys of `frame.groupby(["a", "b"])`."""
    function, name = call.func, str(node.value)
    if not isinstance(function, ast.Attribute):
        return None
    if function.attr == "col" and call.args == [node]:
        return _Use(name, "col", _role(place, call))
    if function.attr == "get" and call.args[:1] == [node]:
        return _Use(name, _table(function.value), _role(place, call))
    return _Use(name, _table(function.value), "key") if function.attr in _KEYED_CALLS else None


def _use_in_aggregate(place: Place, node: ast.Constant, pair: ast.Tuple) -> _Use | None:
    """The column of `agg(total=("price", "sum"))`."""
    keyword = place.parent(pair)
    call = place.parent(keyword) if isinstance(keyword, ast.keyword) else None
    match pair.elts:
        case [first, ast.Constant(value=str(aggregate))] if first is node and isinstance(call, ast.Call):
            role = "number" if aggregate in _NUMERIC else aggregate
            return _Use(str(node.value), "agg", role) if last_name(call) == "agg" else None
    return None


def _table(node: ast.expr) -> str:
    """The variable that a chain of calls and attributes begins with; "" if it begins otherwise."""
    while not isinstance(node, ast.Name):
        match node:
            case ast.Call(func=inner) | ast.Attribute(value=inner) | ast.Subscript(value=inner):
                node = inner
            case _:
                return ""
    return node.id


def _role(place: Place, node: ast.AST) -> str:
    """What the values of a column are taken for: numbers, or what the method or function around them takes."""
    parent = place.parent(node)
    match parent:
        case ast.Attribute():
            return "number" if parent.attr in _NUMERIC else parent.attr
        case ast.Call() if parent.func is not node:
            return "number" if last_name(parent) in _NUMERIC else last_name(parent)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()) | ast.AugAssign():
            return "number"
        case ast.Compare(comparators=[ast.Constant(value=value)]):
            return "number" if isinstance(value, int | float) else "text"
    return ""
