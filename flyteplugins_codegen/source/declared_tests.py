"""The tests that a pytest module declares, read from its syntax tree and never by running it.

A judge compares them with the tests that reported, so that a program which ends early, or hides its tests, is seen. The
rules are pytest's own for collecting (`python_functions=test`, `python_classes=Test`, classes of unittest), applied to
what the text shows; where it does not show how often a test is parametrised, the test counts once, which is the least
that must report.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import TypeAlias

from flyteplugins_codegen.parsing import parse_python
from flyteplugins_codegen.source.asserting import has_check, last_name

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Sizes: TypeAlias = Mapping[str, int]

_MAX_CASES = 10_000


def declared_tests(source: str) -> tuple[str, ...]:
    """The names of the tests, as `test_a`, `TestB::test_c` or, case by case, `test_d[0]`, `test_d[1]`.

    The number in brackets is the position of a case, not pytest's id for it. Raises SyntaxError for text that is not
    Python.
    """
    module = parse_module(source)
    sizes = _literal_sizes(module.body)
    found: dict[str, int] = {}
    for name, decorators in _tests_in(module.body, _module_marks(module.body)):
        found[name] = min(prod(_cases(decorator, sizes) for decorator in decorators), _MAX_CASES)
    return tuple(case for name, count in found.items() for case in _numbered(name, count))


def asserts_something(source: str) -> bool:
    """Whether any test can fail by a check of its own: an `assert`, `pytest.raises` or a method of unittest.

    What is true whatever the code does checks nothing (`asserting.py`); `assert False` stands where a test must not
    come to, as `pytest.fail` does. Raises SyntaxError for text that is not Python.
    """
    return has_check(parse_module(source))


def parse_module(source: str) -> ast.Module:
    """The syntax tree; every way in which text fails to be Python is a SyntaxError."""
    try:
        return parse_python(source)
    except SyntaxError:
        raise
    except (ValueError, MemoryError, RecursionError) as error:
        raise SyntaxError(f"the text cannot be read as Python: {str(error) or 'it is nested too deeply'}") from None


def _tests_in(body: Iterable[ast.stmt], marks: list[ast.expr]) -> Iterator[tuple[str, list[ast.expr]]]:
    for node in _flattened(body):
        if isinstance(node, _Function) and node.name.startswith("test") and not _is_fixture(node):
            yield node.name, [*marks, *node.decorator_list]
        elif isinstance(node, ast.ClassDef) and _is_test_class(node):
            inherited = [*marks, *node.decorator_list, *_module_marks(node.body)]
            for name, decorators in _tests_in(node.body, inherited):
                yield f"{node.name}::{name}", decorators


def _flattened(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the module is imported, those in its `if`, `try` and `with` blocks included."""
    for node in body:
        if isinstance(node, ast.If):
            if not _is_main_guard(node.test):
                yield from _flattened(node.body)
            yield from _flattened(node.orelse)
        elif isinstance(node, ast.Try):
            handlers = [statement for handler in node.handlers for statement in handler.body]
            yield from _flattened([*node.body, *handlers, *node.orelse, *node.finalbody])
        elif isinstance(node, ast.With):
            yield from _flattened(node.body)
        else:
            yield node


def _is_main_guard(test: ast.expr) -> bool:
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    return bool(names & {"__name__", "TYPE_CHECKING"})


def _is_fixture(node: _Function) -> bool:
    return any(last_name(decorator) == "fixture" for decorator in node.decorator_list)


def _is_test_class(node: ast.ClassDef) -> bool:
    if _sets_to_false(node.body, "__test__"):
        return False
    if any(last_name(base).endswith("TestCase") for base in node.bases):
        return True
    constructs = any(isinstance(item, _Function) and item.name in {"__init__", "__new__"} for item in node.body)
    return node.name.startswith("Test") and not constructs


def _sets_to_false(body: Iterable[ast.stmt], name: str) -> bool:
    return any(isinstance(value, ast.Constant) and value.value is False for value in _assigned(body, name))


def _module_marks(body: Iterable[ast.stmt]) -> list[ast.expr]:
    """What a module or a class applies to all its tests by `pytestmark = ...`."""
    marks = _assigned(body, "pytestmark")
    return [mark for value in marks for mark in (value.elts if isinstance(value, ast.List | ast.Tuple) else [value])]


def _assigned(body: Iterable[ast.stmt], name: str) -> list[ast.expr]:
    return [value for target, value in _assignments(body) if target == name]


def _assignments(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in body:
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value


def _literal_sizes(body: Iterable[ast.stmt]) -> dict[str, int]:
    """How many items the module's literal lists have, by name; a name that is assigned twice is not known."""
    assigned = list(_assignments(body))
    names = [name for name, _ in assigned]
    sizes = {name: _literal_size(value) for name, value in assigned if names.count(name) == 1}
    return {name: size for name, size in sizes.items() if size is not None}


def _literal_size(value: ast.expr) -> int | None:
    if isinstance(value, ast.List | ast.Tuple | ast.Set) and not any(isinstance(e, ast.Starred) for e in value.elts):
        return len(value.elts)
    return None


def _cases(decorator: ast.expr, sizes: _Sizes) -> int:
    """How many cases this decorator makes of one test: 1 for anything but a parametrisation that can be read."""
    if not isinstance(decorator, ast.Call) or last_name(decorator) != "parametrize":
        return 1
    named = [keyword.value for keyword in decorator.keywords if keyword.arg == "argvalues"]
    values = [*decorator.args[1:2], *named]
    if not values:
        return 1
    size = sizes.get(values[0].id) if isinstance(values[0], ast.Name) else _literal_size(values[0])
    return max(size or 1, 1)  # an empty list still makes one test, which pytest skips


def _numbered(name: str, count: int) -> Iterator[str]:
    return (f"{name}[{index}]" for index in range(count)) if count > 1 else iter((name,))
