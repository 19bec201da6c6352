"""Changes of operators, numbers, conditions and single statements, and the walk that finds all changes of a place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from flyteplugins_codegen.source.mutations.change import (
    Change,
    MutationKind,
    Place,
    excerpt,
    padded,
    place_of,
    replaced,
    span_of,
)
from flyteplugins_codegen.source.mutations.columns import column_changes, with_columns
from flyteplugins_codegen.source.mutations.irrelevant import children, is_irrelevant, is_path, is_written
from flyteplugins_codegen.source.mutations.rows import row_changes
from flyteplugins_codegen.source.mutations.sql import sql_changes
from flyteplugins_codegen.source.mutations.tables import table_changes
from flyteplugins_codegen.source.python import last_name

_ARITHMETIC: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
_COMPARISONS: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
_BOUNDARIES: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
}
# Operands with which the changed operator gives the same result: x + 0 is x - 0, x * 1 is x / 1.
_NEUTRAL: Final[dict[type[ast.AST], int]] = {
    ast.Add: 0,
    ast.Sub: 0,
    ast.Mult: 1,
    ast.Div: 1,
    ast.FloorDiv: 1,
    ast.Pow: 1,
}
_LONGEST_LINE_BYTES: Final = 1 << 20
_WITHOUT_EFFECT: Final = frozenset({"close", "flush", "basicConfig", "set_defaults", "reconfigure", "seek"})
_ROW_CALLS: Final = frozenset({"head", "tail", "nlargest", "nsmallest", "range", "shift", "islice", "most_common"})
_FILTER_CALLS: Final = frozenset({"isin", "between", "eq", "ne", "lt", "le", "gt", "ge", "query"})


def find_changes(source: bytes, node: ast.AST) -> Iterator[Change]:
    """All changes at and below a node, in the order of the text. `source` is UTF-8. Raises RecursionError.

    The node is a function or an assignment, or a piece of one.
    """
    place = with_columns(place_of(source, node))
    yield from _changes_below(place, node, loops=False)


def _changes_below(place: Place, node: ast.AST, *, loops: bool) -> Iterator[Change]:
    for change in sql_changes(place, node):
        yield change._replace(loops=loops)
    if is_irrelevant(place, node):
        return
    for change in _changes_of(place, node):
        yield change._replace(loops=loops)
    for child in children(node):
        yield from _changes_below(place, child, loops=loops or isinstance(node, ast.While))


def _changes_of(place: Place, node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.BinOp():
            yield from _operator_changes(place, node)
        case ast.AugAssign() if type(node.op) in _ARITHMETIC:
            yield from _swapped(place, "arithmetic", _ARITHMETIC[type(node.op)], (node.target, node.value))
        case ast.Compare():
            yield from _comparison_changes(place, node)
        case ast.BoolOp():
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from _swapped(place, "comparison", _COMPARISONS[type(node.op)], (left, right))
        case ast.UnaryOp():
            yield from _without_sign(place, node)
        case ast.Constant():
            yield from _constant_changes(place, node)
    if isinstance(node, ast.stmt):
        yield from _without_statement(place, node)
    yield from table_changes(place, node)
    yield from row_changes(place, node)
    yield from column_changes(place, node)


def _operator_changes(place: Place, node: ast.BinOp) -> Iterator[Change]:
    operands = (node.left, node.right)
    if any(isinstance(o, ast.JoinedStr) or isinstance(getattr(o, "value", None), str | bytes) for o in operands):
        return  # strings: another operator would fail in any run
    if any(isinstance(o, ast.List | ast.ListComp | ast.Tuple) for o in operands) or is_path(node):
        return
    neutral = _NEUTRAL.get(type(node.op))
    if neutral is not None and any(isinstance(o, ast.Constant) and o.value == neutral for o in operands):
        return
    if type(node.op) in _ARITHMETIC:
        yield from _swapped(place, "arithmetic", _ARITHMETIC[type(node.op)], operands)


def _comparison_changes(place: Place, node: ast.Compare) -> Iterator[Change]:
    operands = [node.left, *node.comparators]
    for operator, left, right in zip(node.ops, operands, operands[1:], strict=False):
        yield from _swapped(place, "comparison", _COMPARISONS[type(operator)], (left, right))
        if type(operator) in _BOUNDARIES:
            yield from _swapped(place, "boundary", _BOUNDARIES[type(operator)], (left, right))


def _swapped(
    place: Place, kind: MutationKind, signs: tuple[str, str], operands: tuple[ast.expr, ast.expr]
) -> Iterator[Change]:
    """Another operator between two operands, where comments and parentheses may be too."""
    left, right = operands
    span = (left.end_lineno or 0, left.end_col_offset or 0, right.lineno, right.col_offset)
    between = place.text.at(span)
    bare = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), between)
    match = re.search(re.escape(signs[0]).replace(r"\ ", r"[\s\\]+"), bare)
    if match:
        replacement = between[: match.start()] + signs[1] + between[match.end() :]
        description = f"`{signs[1]}` for `{signs[0]}` between `{excerpt(left)}` and `{excerpt(right)}`"
        yield Change(kind, span, replacement, description)


def _without_sign(place: Place, node: ast.UnaryOp) -> Iterator[Change]:
    operand, sign = node.operand, "not" if isinstance(node.op, ast.Not) else "-"
    if isinstance(node.op, ast.Not | ast.USub) and not isinstance(operand, ast.Constant):
        span = (node.lineno, node.col_offset, operand.lineno, operand.col_offset)
        rest = place.text.at(span)[len(sign) :].lstrip()
        is_key = any(isinstance(above, ast.keyword) and above.arg == "key" for above in place.above(node))
        kind: MutationKind = "comparison" if sign == "not" else "order" if is_key else "arithmetic"
        yield Change(kind, span, rest, f"`{excerpt(node)}` without its `{sign}`")


# --- constants --------------------------------------------------------------------------------------------------------


def _constant_changes(place: Place, node: ast.Constant) -> Iterator[Change]:
    if isinstance(node.value, bool):
        if not isinstance(place.parent(node), ast.keyword):  # keywords of known meaning: `tables`
            yield replaced("constant", node, str(not node.value))
        return
    if isinstance(node.value, str):
        if node.value.strip() and _is_compared(place, node):
            quote = node.value + "_"
            yield replaced("filter", node, repr(quote))
        return
    if not isinstance(node.value, int | float):
        return
    kind = _kind_of_number(place, node)
    changed = repr(node.value - 1 if kind == "rounding" else node.value + 1)
    if changed not in {repr(node.value), "inf", "nan"} and not (kind == "rounding" and node.value < 1):
        yield replaced(kind, node, changed)


def _is_compared(place: Place, node: ast.expr) -> bool:
    """Whether values of the data are compared with this one, alone or as one of several."""
    parent = place.parent(node)
    if isinstance(parent, ast.List | ast.Tuple | ast.Set):
        parent = place.parent(parent)
    if isinstance(parent, ast.Compare):
        return "__name__" not in ast.unparse(parent)
    return isinstance(parent, ast.Call) and last_name(parent) in _FILTER_CALLS and parent.func is not node


def _kind_of_number(place: Place, node: ast.Constant) -> MutationKind:
    parent: ast.AST | None = node
    for parent in place.above(node):
        if not isinstance(parent, ast.UnaryOp | ast.Tuple | ast.keyword):
            break
    match parent:
        case ast.Compare():
            return "filter"
        case ast.Slice() | ast.Subscript():
            return "row"
        case ast.Call() if last_name(parent) == "round":
            return "rounding"
        case ast.Call() if last_name(parent) in _ROW_CALLS:
            return "row"
        case ast.Call() if last_name(parent) in _FILTER_CALLS:
            return "filter"
    return "constant"


# --- statements -------------------------------------------------------------------------------------------------------


def _without_statement(place: Place, node: ast.stmt) -> Iterator[Change]:
    if _is_dispensable(node) and not is_written(node):
        last, end = node.end_lineno or node.lineno, node.end_col_offset or 0
        if not (last > node.lineno and ";" in place.text.at((last, end, last, _LONGEST_LINE_BYTES))):
            text = padded("pass", span_of(node)).replace(" \\", "")
            yield Change("deleted statement", span_of(node), text, f"without `{excerpt(node)}`")


def _is_dispensable(node: ast.stmt) -> bool:
    """Whether the code still runs without the statement; assignments to names are needed by what follows."""
    match node:
        case ast.AugAssign() | ast.Continue() | ast.Break() | ast.Delete():
            return True
        case ast.Assign():
            return all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
        case ast.Expr(value=ast.Call(func=function)):
            return last_name(function) not in _WITHOUT_EFFECT
    return False
