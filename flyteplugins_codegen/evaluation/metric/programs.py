"""How a merged program is judged: its tests as a suite whose tests are counted, wherever the tests can be told apart.

A merge function is anybody's. What it makes of no solution at all shows where the tests stand in a program; where every
program ends in that same text, what comes before it is the solution, and nothing that a solution holds can move the
border. Solution and tests run as two modules, the tests finding the solution's names by import. Anything else is a
program that prints, and its text is all there is to judge by.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from flyteplugins_codegen.parsing import parse_python
from flyteplugins_codegen.source.declared_tests import asserts_something, declared_tests, parse_module

_BUILTINS: Final = frozenset(dir(builtins))
_ONE_TEST: Final = "test_all_of_it"


@dataclass(frozen=True, slots=True)
class SuiteProgram:
    """A solution and a suite, as two modules; `expected` are the tests that the suite declares."""

    solution: str
    tests: str
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PrintingProgram:
    """A program that says by what it prints whether it is right."""

    source: str


Program: TypeAlias = SuiteProgram | PrintingProgram


def plan_program(merged: str, ending: str) -> Program:
    """The program that a merged text stands for; `ending` is that of `find_ending`. Raises SyntaxError as that does."""
    if not ending or not merged.endswith(ending) or not _begins_a_line(ending, merged):
        return PrintingProgram(merged)
    solution = merged.removesuffix(ending)
    if declared_tests(ending):
        return _as_suite(solution, ending)
    if asserts_something(ending) or _raises(ending):
        return _as_suite(solution, _in_one_test(ending))
    return PrintingProgram(merged)


def find_ending(frame: str, test_code: str) -> str:
    """The tests and what follows them in `frame`, a program without a solution; "" where they are no statements of it.

    Raises SyntaxError for tests that are not Python.
    """
    parse_module(test_code)
    tests = test_code.strip()
    place = frame.rfind(tests) if tests else -1
    ending = frame[place:] if place >= 0 else ""
    try:
        parse_module(ending)
    except SyntaxError:
        return ""
    return ending


def _begins_a_line(ending: str, merged: str) -> bool:
    """Whether what ends the program is a statement of its own; not quoted, nor indented."""
    return not merged.removesuffix(ending).rpartition("\n")[2]


def _as_suite(solution: str, tests: str) -> SuiteProgram:
    with_names = _with_names_of(solution, tests)
    return SuiteProgram(solution, with_names, declared_tests(with_names))


def _raises(tests: str) -> bool:
    return any(isinstance(node, ast.Raise) for node in ast.walk(parse_module(tests)))


def _in_one_test(script: str) -> str:
    """Statements that assert as they run, as the body of one test."""
    module = parse_module(script)
    futures = [node for node in module.body if _is_future(node)]
    body = [node for node in module.body if not _is_future(node)]
    test = parse_python(f"def {_ONE_TEST}(): pass")
    function = test.body[0]
    assert isinstance(function, ast.FunctionDef)  # noqa: S101 - the line above says so
    function.body = body
    return ast.unparse(ast.Module(body=[*futures, function], type_ignores=[]))


def _with_names_of(solution: str, tests: str) -> str:
    """The tests, importing from `solution` each name that they use and that it binds; never one of the builtins.

    A solution that defines `len` or `abs` would otherwise decide by what the tests compare.
    """
    wanted = sorted((_used_names(tests) & _bound_names(solution)) - _BUILTINS)
    if not wanted:
        return tests
    lines = tests.splitlines(keepends=True)
    start = max((node.end_lineno or 0 for node in parse_module(tests).body if _is_future(node)), default=0)
    return "".join([*lines[:start], f"from solution import {', '.join(wanted)}\n", *lines[start:]])


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _used_names(tests: str) -> frozenset[str]:
    tree = parse_module(tests)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return frozenset(names - set(_bound_by(tree.body)))


def _bound_names(solution: str) -> frozenset[str]:
    try:
        return frozenset(_bound_by(parse_module(solution).body))
    except SyntaxError:
        # The run itself says what is wrong with it.
        return frozenset()


def _bound_by(body: Iterable[ast.stmt]) -> Iterator[str]:
    """The names that a module's own statements bind, those within its `if`, `try`, `with` and loops included."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        else:
            yield from _stored_in(node)


def _stored_in(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield from _bound_by([child])
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif not isinstance(child, ast.Lambda):
            yield from _stored_in(child)
