"""Which tests can fail by a check of their own, read from the syntax tree."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

_ASSERTING_CONTEXTS: Final = frozenset({"raises", "warns", "deprecated_call"})
_FAILING: Final = frozenset({"pytest.fail", "self.fail"})
_OF_ASSERTIONS: Final = frozenset({"AssertionError", "Exception", "BaseException"})
_SETTING_UP: Final = ("test", "setup", "teardown", "setUp", "tearDown")
_REFLEXIVE: Final = (ast.Eq, ast.Is, ast.LtE, ast.GtE)


def has_check(module: ast.Module) -> bool:
    """Whether any check in the module can fail, and fail a test.

    None is an `assert` that is true whatever the code does (`assert True`, `assert x == x`, `assert (x, "text")`), one
    whose failure is caught on the spot, one that stands where nothing comes to, or in a function that nothing names.
    """
    mentioned = Counter(_mentions(module))
    try:
        return any(True for _ in _checks(module.body, mentioned))
    except RecursionError:  # nested too deeply to be looked at closely, such as hundreds of `elif`
        return any(isinstance(node, ast.Assert) for node in ast.walk(module))


def last_name(node: ast.expr) -> str:
    """`parametrize` of `pytest.mark.parametrize(...)`."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _mentions(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):  # a fixture
            yield node.arg


def _checks(body: Iterable[ast.stmt], mentioned: Counter[str]) -> Iterator[ast.AST]:
    """The checks of a block, up to where it is left for certain."""
    for node in body:
        yield from _checks_of(node, mentioned)
        if isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
            return


def _checks_of(node: ast.stmt, mentioned: Counter[str]) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assert):
        if not _is_idle(node.test):
            yield node
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_run(node, mentioned):
        return
    for field, block in _blocks(node):
        if not _is_unreached(node, field) and not _is_forgiven(node, field):
            yield from _checks(block, mentioned)
    yield from (call for call in _calls(node) if _can_fail(call))


def _is_run(node: ast.FunctionDef | ast.AsyncFunctionDef, mentioned: Counter[str]) -> bool:
    return node.name.startswith(_SETTING_UP) or mentioned[node.name] > 0 or bool(node.decorator_list)


def _blocks(node: ast.stmt) -> Iterator[tuple[str, list[ast.stmt]]]:
    for field in ("body", "orelse", "finalbody"):
        yield field, getattr(node, field, [])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield "handlers", part.body


def _is_unreached(node: ast.stmt, field: str) -> bool:
    """Whether a condition that is a constant keeps a block from running."""
    if field == "body" and isinstance(node, ast.If | ast.While):
        return isinstance(node.test, ast.Constant) and not node.test.value
    return (
        field == "orelse"
        and isinstance(node, ast.If)
        and isinstance(node.test, ast.Constant)
        and node.test.value is True
    )


def _is_forgiven(node: ast.stmt, field: str) -> bool:
    """Whether what fails in a block is caught by the statement that it belongs to, and fails nothing."""
    if field != "body":
        return False
    if isinstance(node, ast.Try):
        return any(_catches(handler.type) and not _goes_on(handler.body) for handler in node.handlers)
    if isinstance(node, ast.With | ast.AsyncWith):
        managers = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        return any(last_name(call) == "suppress" and any(map(_catches, call.args)) for call in managers)
    return False


def _catches(kind: ast.expr | None) -> bool:
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(each is None or last_name(each) in _OF_ASSERTIONS for each in kinds)


def _goes_on(handler: Iterable[ast.stmt]) -> bool:
    """Whether a handler raises or fails in turn."""
    nodes = [node for statement in handler for node in ast.walk(statement)]
    return any(
        isinstance(node, ast.Raise | ast.Assert) or (isinstance(node, ast.Call) and _can_fail(node)) for node in nodes
    )


def _calls(node: ast.stmt) -> Iterator[ast.Call]:
    """The calls of a statement outside of its blocks."""
    pending: list[ast.AST] = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
    while pending:
        each = pending.pop()
        if isinstance(each, ast.Call):
            yield each
        if not isinstance(each, ast.ExceptHandler):
            pending += [child for child in ast.iter_child_nodes(each) if not isinstance(child, ast.stmt)]


def _can_fail(call: ast.Call) -> bool:
    name = last_name(call)
    if name.startswith("assert"):
        same = len(call.args) > 1 and ast.dump(call.args[0]) == ast.dump(call.args[1])
        return not same and not (call.args and all(_is_constant(argument) for argument in call.args))
    is_failing = isinstance(call.func, ast.Attribute) and ast.unparse(call.func) in _FAILING
    return name in _ASSERTING_CONTEXTS or is_failing


def _is_idle(test: ast.expr) -> bool:
    """Whether an asserted expression is true whatever the code does."""
    match test:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if isinstance(operator, _REFLEXIVE):
            return ast.dump(left) == ast.dump(right) or (_is_constant(left) and _is_constant(right))
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_is_idle, values))
        case ast.BoolOp(values=values):
            return all(map(_is_idle, values))
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return bool(items)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return not value
    return isinstance(test, ast.Constant) and bool(test.value)


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)
