"""Changes of what is done with tables and lists: aggregates, filters, sorting, joins, groups, nulls, duplicates, rows.

Calls are known by their names alone: those of pandas, polars, the standard library and the built-in functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from flyteplugins_codegen.source.mutations.change import (
    Change,
    MutationKind,
    Place,
    end_of,
    excerpt,
    in_message,
    padded,
    removed,
    replaced,
    span_between,
    span_of,
)
from flyteplugins_codegen.source.python import last_name

# Two different values tell most of these from their replacement; a mean and a median take three.
_AGGREGATES: Final = {
    "sum": "max",
    "mean": "max",
    "median": "mean",
    "max": "min",
    "min": "max",
    "count": "nunique",
    "nunique": "count",
    "first": "last",
    "last": "first",
    "idxmax": "idxmin",
    "idxmin": "idxmax",
    "nlargest": "nsmallest",
    "nsmallest": "nlargest",
    "any": "all",
    "all": "any",
    "std": "var",
    "var": "std",
    "pstdev": "stdev",
    "stdev": "pstdev",
    "cumsum": "cummax",
    "cummax": "cummin",
    "cummin": "cummax",
    "fmean": "median",
    "median_low": "median_high",
    "median_high": "median_low",
}
# The module has no `max`, and what is imported from it may be one name alone.
_OF_STATISTICS: Final = {"mean": "median", "median": "mean"}
_BUILT_IN_AGGREGATES: Final = {"sum": "max", "max": "min", "min": "max", "any": "all", "all": "any"} | dict.fromkeys(
    ("mean", "fmean", "median"), "max"
)
_AGGREGATING: Final = frozenset({"agg", "aggregate", "transform", "pivot_table", "NamedAgg", "resample", "apply"})
_JOINS: Final = {"left": "inner", "inner": "left", "outer": "inner", "right": "inner", "full": "inner"}
_FLAGS: Final = frozenset({"ascending", "reverse", "descending", "skipna", "dropna", "right", "include_lowest"})
_NULL_CALLS: Final = frozenset({"dropna", "fillna", "drop_nulls", "fill_null"})
_SORTS: Final = frozenset({"sort_values", "sorted", "sort", "sort_index"})
_MASK_CALLS: Final = frozenset(
    {"isin", "between", "notna", "isna", "notnull", "isnull", "duplicated", "startswith", "endswith", "contains"}
    | {"eq", "ne", "lt", "le", "gt", "ge"}
)
_NULLNESS: Final = {"isna": "notna", "notna": "isna", "isnull": "notnull", "notnull": "isnull"} | {
    "is_null": "is_not_null",
    "is_not_null": "is_null",
}
_RANKS: Final = {"min": "dense", "dense": "min", "first": "min", "average": "min", "max": "min", "ordinal": "min"}
_ORDER_FLAGS: Final = frozenset({"ascending", "reverse", "descending"})
_NULL_FLAGS: Final = frozenset({"skipna", "dropna"})


def table_changes(place: Place, node: ast.AST) -> Iterator[Change]:
    """The changes of a call, a selection of rows, a comprehension or an aggregate's name, without its parts."""
    match node:
        case ast.Call():
            yield from _aggregate(node)
            yield from _duplicates(place, node)
            yield from _nulls(place, node)
            yield from _query(node)
            yield from _order(place, node)
            yield from _group_keys(node)
            yield from _join(node)
        case ast.keyword():
            yield from _keyword(place, node)
        case ast.Constant():
            yield from _aggregate_name(place, node)
        case ast.Subscript():
            yield from _mask(node)
        case ast.comprehension():
            yield from _comprehension(node)


# --- calls ------------------------------------------------------------------------------------------------------------


def _aggregate(node: ast.Call) -> Iterator[Change]:
    """Another aggregate for `frame.sum()`, `statistics.mean(values)` or the built-in `max(values)`."""
    name = last_name(node)
    if isinstance(node.func, ast.Name):
        other = _BUILT_IN_AGGREGATES.get(name)
        is_aggregate = _has_list(node) if name == "sum" else bool(node.args)
    else:
        is_module = isinstance(node.func, ast.Attribute) and last_name(node.func.value) == "statistics"
        other = (_OF_STATISTICS if is_module else {}).get(name, _AGGREGATES.get(name))
        is_aggregate = _aggregates(node, name)
    if other is not None and is_aggregate:
        yield _renamed("aggregate", node, other)


def _aggregates(call: ast.Call, name: str) -> bool:
    """Whether a method is an aggregate: `text.count("a")` is none."""
    if name in {"nlargest", "nsmallest", "median_low", "median_high", "fmean", "pstdev", "stdev"}:
        return True
    texts = (ast.Constant, ast.JoinedStr)
    return name != "count" or not (call.args and isinstance(call.args[0], texts))


def _has_list(call: ast.Call) -> bool:
    """Whether a built-in `sum` has one argument: with a start, as for lists, no other function takes its place."""
    return len(call.args) == 1 and not call.keywords


def _renamed(kind: MutationKind, call: ast.Call, other: str) -> Change:
    _, _, last, end = span_of(call.func)
    name = last_name(call)
    span = (last, end - len(name.encode()), last, end)
    return Change(kind, span, other, f"`{other}` for `{name}` in `{excerpt(call)}`")


def _duplicates(place: Place, node: ast.Call) -> Iterator[Change]:
    """`drop_duplicates` dropped; a list for a set whose members are counted, summed up or sorted."""
    if last_name(node) in {"drop_duplicates", "unique"} and isinstance(node.func, ast.Attribute):
        is_of_rows = last_name(node) == "drop_duplicates" or bool(node.keywords)  # polars has `unique` for it
        if is_of_rows and not isinstance(place.parent(node), ast.Expr):
            yield removed("duplicates", node, node.func.value)
        return
    is_counted = isinstance(node.func, ast.Name) and node.func.id in {"len", "sum", "sorted"} and node.args
    argument = node.args[0] if is_counted else None
    match argument:
        case ast.SetComp():
            yield replaced("duplicates", argument, "[" + place.text.at(span_of(argument))[1:-1] + "]")
        case ast.Call(func=ast.Name(id="set")) if argument.args:
            yield _renamed("duplicates", argument, "list")


def _nulls(place: Place, node: ast.Call) -> Iterator[Change]:
    name = last_name(node)
    if not isinstance(node.func, ast.Attribute) or isinstance(place.parent(node), ast.Expr):
        return
    if name in _NULL_CALLS:
        yield removed("null handling", node, node.func.value)
    elif name in _NULLNESS:
        yield _renamed("null handling", node, _NULLNESS[name])


def _query(node: ast.Call) -> Iterator[Change]:
    if last_name(node) in {"query", "filter"} and isinstance(node.func, ast.Attribute) and node.args:
        yield removed("filter", node, node.func.value)
    if last_name(node) == "between" and node.args[1:] and not node.keywords:
        end = node.args[-1]
        span = end_of(end)
        description = f'`{excerpt(node)}` with `inclusive="neither"`'
        yield Change("boundary", span, ', inclusive="neither"', description)


def _order(place: Place, node: ast.Call) -> Iterator[Change]:
    """The other direction where none is given; the order of several sort keys, or the last of them dropped."""
    if last_name(node) not in _SORTS or in_message(place, node):
        return
    given = {keyword.arg for keyword in node.keywords}
    if not given & _ORDER_FLAGS and None not in given:
        yield from _other_direction(node)
    keys = next((keyword.value for keyword in node.keywords if keyword.arg in {"by", "key"}), None)
    if keys is None and last_name(node) == "sort_values" and node.args:
        keys = node.args[0]
    if isinstance(keys, ast.Lambda):
        keys = keys.body
    if isinstance(keys, ast.List | ast.Tuple) and len(keys.elts) > 1:
        yield from _other_keys(place, node, keys)


def _other_direction(call: ast.Call) -> Iterator[Change]:
    is_frame = last_name(call) in {"sort_values", "sort_index"}
    is_polars = last_name(call) == "sort" and bool(call.args)
    flag = "ascending=False" if is_frame else "descending=True" if is_polars else "reverse=True"
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if given and not any(isinstance(argument, ast.GeneratorExp) for argument in given):
        last = max(given, key=lambda argument: (argument.end_lineno or 0, argument.end_col_offset or 0))
        if isinstance(last, ast.Lambda | ast.Constant | ast.Name | ast.Call | ast.List | ast.Attribute):
            span = end_of(last)
            yield Change("order", span, f", {flag}", f"`{excerpt(call)}` with `{flag}`")


def _other_keys(place: Place, call: ast.Call, keys: ast.List | ast.Tuple) -> Iterator[Change]:
    texts = [place.text.at(span_of(element)) for element in keys.elts]
    if any("\n" in text for text in texts):
        return
    brackets = ("[", "]") if isinstance(keys, ast.List) else ("(", ")")
    swapped = [texts[1], texts[0], *texts[2:]]
    swapped_text = padded(brackets[0] + ", ".join(swapped) + brackets[1], span_of(keys))
    yield Change("order", span_of(keys), swapped_text, f"`{', '.join(swapped)}` for `{', '.join(texts)}` as sort keys")
    if isinstance(keys, ast.Tuple):
        span = span_between(keys.elts[-2], keys.elts[-1])
        kept = "" if texts[2:] else ","
        yield Change("order", span, padded(kept, span), f"`{excerpt(call)}` without the sort key `{texts[-1]}`")


def _group_keys(node: ast.Call) -> Iterator[Change]:
    """One of several keys dropped."""
    if last_name(node) not in {"groupby", "group_by", "drop_duplicates", "duplicated"}:
        return
    keys = next((k.value for k in node.keywords if k.arg in {"by", "subset"}), node.args[0] if node.args else None)
    if node.args[1:] and all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in node.args):
        span = span_between(node.args[-2], node.args[-1])
        dropped = excerpt(node.args[-1])
        yield Change("group key", span, padded("", span), f"`{excerpt(node)}` without the key `{dropped}`")
    if isinstance(keys, ast.List) and len(keys.elts) > 1:
        span = span_between(keys.elts[-2], keys.elts[-1])
        dropped = excerpt(keys.elts[-1])
        yield Change("group key", span, padded("", span), f"`{excerpt(node)}` without the key `{dropped}`")


# --- keywords and names -----------------------------------------------------------------------------------------------


def _keyword(place: Place, node: ast.keyword) -> Iterator[Change]:
    """Flags turned round, another join, another of two duplicates kept, another rank of ties."""
    value = node.value
    if node.arg in _FLAGS:
        flags = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
        kind: MutationKind = (
            "order" if node.arg in _ORDER_FLAGS else "null handling" if node.arg in _NULL_FLAGS else "boundary"
        )
        for flag in flags:
            if isinstance(flag, ast.Constant) and isinstance(flag.value, bool):
                yield _in_keyword(kind, flag, str(not flag.value), node)
    elif node.arg in {"how", "join"} and isinstance(value, ast.Constant) and value.value in _JOINS:
        yield _in_keyword("join", value, repr(_JOINS[value.value]), node)
    elif node.arg == "method" and isinstance(value, ast.Constant) and value.value in _RANKS and _is_rank(place, node):
        yield _in_keyword("order", value, repr(_RANKS[value.value]), node)
    elif node.arg == "keep" and isinstance(value, ast.Constant) and value.value in {"first", "last"}:
        yield _in_keyword("duplicates", value, repr(_AGGREGATES[value.value]), node)


def _is_rank(place: Place, keyword: ast.keyword) -> bool:
    call = place.parent(keyword)
    return isinstance(call, ast.Call) and last_name(call) == "rank"


def _in_keyword(kind: MutationKind, value: ast.Constant, by: str, keyword: ast.keyword) -> Change:
    return Change(kind, span_of(value), by, f"`{keyword.arg}={by}` for `{keyword.arg}={excerpt(value)}`")


def _join(node: ast.Call) -> Iterator[Change]:
    """Rows without a partner kept where pandas leaves them out."""
    keywords = {keyword.arg for keyword in node.keywords}
    is_join = last_name(node) == "merge" or (last_name(node) == "join" and "left_on" in keywords)
    if is_join and keywords & {"on", "left_on", "left_index"} and not keywords & {"how", None}:
        last = max(node.keywords, key=lambda keyword: (keyword.end_lineno or 0, keyword.end_col_offset or 0))
        span = end_of(last)
        yield Change("join", span, ', how="left"', f'`{excerpt(node)}` with `how="left"`')


def _aggregate_name(place: Place, node: ast.Constant) -> Iterator[Change]:
    """Another aggregate for the name of one, as in `agg({"price": "sum"})` or `agg(total=("price", "sum"))`."""
    other = _AGGREGATES.get(node.value) if isinstance(node.value, str) else None
    if other is None:
        return
    parent = place.parent(node)
    if isinstance(parent, ast.Tuple) and parent.elts[0] is node:
        return  # a column
    if isinstance(parent, ast.Dict) and node in parent.keys:
        return
    call = next((above for above in place.above(node) if isinstance(above, ast.Call)), None)
    if call is not None and last_name(call) in _AGGREGATING:
        yield replaced("aggregate", node, repr(other))


# --- rows that are selected -------------------------------------------------------------------------------------------


def _mask(node: ast.Subscript) -> Iterator[Change]:
    """All rows for those of a condition: `frame` for `frame[frame["a"] > 1]`, `:` for the condition in `.loc`."""
    if not isinstance(node.ctx, ast.Load):
        return
    is_loc = isinstance(node.value, ast.Attribute) and node.value.attr == "loc"
    rows = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and is_loc else node.slice
    if not _is_mask(rows):
        return
    kind: MutationKind = "null handling" if _is_about_nulls(rows) else "filter"
    by = ":" if is_loc else None
    description = f"without the condition `{excerpt(rows)}`"
    if by is None:
        span = span_between(node.value, node)
        yield Change(kind, span, padded("", span), description)
    else:
        yield Change(kind, span_of(rows), padded(by, span_of(rows)), description)


def _is_mask(node: ast.expr) -> bool:
    match node:
        case ast.Compare():
            return True
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr(), left=left):
            return _is_mask(left) or isinstance(left, ast.Name)
        case ast.UnaryOp(op=ast.Invert()):
            return True
        case ast.Call():
            return last_name(node) in _MASK_CALLS
    return False


def _comprehension(node: ast.comprehension) -> Iterator[Change]:
    """A comprehension without one of its conditions."""
    for condition in node.ifs:
        kind: MutationKind = "null handling" if _is_about_nulls(condition) else "filter"
        span = span_of(condition)
        yield Change(kind, span, padded("True", span), f"without the condition `{excerpt(condition)}`")


def _is_about_nulls(node: ast.expr) -> bool:
    """Whether a condition only asks whether there is a value: `row["a"]`, `x.strip() != ""`, `x is not None`."""
    match node:
        case ast.UnaryOp(operand=operand):
            return _is_about_nulls(operand)
        case ast.Compare(comparators=[ast.Constant(value=None | "")]):
            return True
        case ast.Call():
            return last_name(node) in {*_NULLNESS, "strip", "isnan", "get"}
    return isinstance(node, ast.Subscript | ast.Name)
