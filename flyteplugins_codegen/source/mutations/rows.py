"""Changes of which rows are taken and how they are grouped: one row off, a key dropped, nulls counted as 0."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Final

from flyteplugins_codegen.source.mutations.change import (
    Change,
    Place,
    end_of,
    excerpt,
    in_message,
    padded,
    span_of,
)
from flyteplugins_codegen.source.python import last_name

_TAKING_CALLS: Final = {"head": 0, "tail": 0, "nlargest": 0, "nsmallest": 0, "most_common": 0, "limit": 0, "islice": 1}
_KEYED_CALLS: Final = frozenset({"get", "setdefault"})
_GENERIC: Final = frozenset(vars(builtins)) | {"defaultdict", "Counter", "loc", "iloc", "at", "iat"}
_SKIPPING_NULLS: Final = frozenset({"mean", "median", "min", "std", "count", "nunique"})
_NULL_CALLS: Final = frozenset({"dropna", "fillna", "isna", "notna", "isnull", "notnull"})


def row_changes(place: Place, node: ast.AST) -> Iterator[Change]:
    """The changes of a call, of a slice, or of a tuple that is a key, without its parts."""
    match node:
        case ast.Call():
            yield from _length(place, node)
            yield from _taken(node)
            yield from _sorted_in_place(place, node)
            yield from _nulls_as_zero(place, node)
        case ast.Slice(lower=None, upper=ast.Name() | ast.Attribute() as bound, step=None):
            yield _one_more(bound)
        case ast.Tuple():
            yield from _key(place, node)


def _length(place: Place, node: ast.Call) -> Iterator[Change]:
    """One row fewer; comparisons of a length have changes of their own."""
    is_length = isinstance(node.func, ast.Name) and node.func.id == "len"
    above = place.parent(node)
    is_shifted = isinstance(above, ast.BinOp) and isinstance(above.right, ast.Constant)  # `len(a) - 1` has a constant
    is_condition = isinstance(above, ast.Compare | ast.BoolOp | ast.If | ast.IfExp | ast.While | ast.UnaryOp)
    if is_length and not is_condition and not is_shifted:
        by = f"({place.text.at(span_of(node))} - 1)"
        if not in_message(place, node):
            yield Change("row", span_of(node), by, f"`{excerpt(node)} - 1` for `{excerpt(node)}`")


def _taken(node: ast.Call) -> Iterator[Change]:
    """One row more where the number of rows is a variable; that of a constant is one more anyway."""
    position = _TAKING_CALLS.get(last_name(node), len(node.args))
    if position < len(node.args) and isinstance(node.args[position], ast.Name | ast.Attribute):
        yield _one_more(node.args[position])


def _one_more(bound: ast.expr) -> Change:
    return Change("row", end_of(bound), " + 1", f"`{excerpt(bound)} + 1` for `{excerpt(bound)}`")


def _sorted_in_place(place: Place, node: ast.Call) -> Iterator[Change]:
    """The other direction of `rows.sort()`."""
    is_bare = isinstance(node.func, ast.Attribute) and node.func.attr == "sort" and not (node.args or node.keywords)
    if is_bare and isinstance(place.parent(node), ast.Expr):
        line, end = end_of(node)[:2]
        description = f"`{excerpt(node)}` with `reverse=True`"
        yield Change("order", (line, end - 1, line, end - 1), "reverse=True", description)


def _nulls_as_zero(place: Place, node: ast.Call) -> Iterator[Change]:
    """Nulls counted as 0 in an aggregate that leaves them out, where the code has a rule for nulls of other columns."""
    column = node.func.value if isinstance(node.func, ast.Attribute) else None
    if not isinstance(column, ast.Subscript) or last_name(node) not in _SKIPPING_NULLS or node.args or node.keywords:
        return
    name = column.slice.value if isinstance(column.slice, ast.Constant) else None
    calls = [part for part in ast.walk(place.root) if isinstance(part, ast.Call) and last_name(part) in _NULL_CALLS]
    ruled = {part.value for call in calls for part in ast.walk(call) if isinstance(part, ast.Constant)}
    has_rule_for_all = any(last_name(call) == "dropna" and not (call.args or call.keywords) for call in calls)
    if isinstance(name, str) and calls and name not in ruled and not has_rule_for_all:
        description = f"`{excerpt(column)}.fillna(0)` for `{excerpt(column)}`"
        yield Change("null handling", end_of(column), ".fillna(0)", description)


def _key(place: Place, node: ast.Tuple) -> Iterator[Change]:
    """The first part of a group's key in place of the last one: what is unpacked from the key keeps its length."""
    if len(node.elts) > 1 and _is_key(place, node):
        first, last = node.elts[0], node.elts[-1]
        by, span = place.text.at(span_of(first)), span_of(last)
        if "\n" not in by and ast.dump(first) != ast.dump(last):
            description = f"the key `{excerpt(node)}` without `{excerpt(last)}`"
            yield Change("group key", span, padded(by, span), description)


def _is_key(place: Place, node: ast.Tuple) -> bool:
    if any(isinstance(part, ast.Slice | ast.Constant | ast.Starred) for part in node.elts):
        return False
    match place.parent(node):
        case ast.Subscript(slice=part, value=value) if part is node:
            return last_name(value) not in _GENERIC and not last_name(value)[:1].isupper()
        case ast.Assign(targets=[ast.Name(id=name)]):
            return "key" in name.lower()
        case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]):
            return first is node and name in _KEYED_CALLS
    return False
