"""Single test functions of a pytest module: found by the syntax tree, shown or taken out, all else left as it is."""

from __future__ import annotations

import ast
import io
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from flyteplugins_codegen.source.declared_tests import parse_module

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class DeclaredFunction(NamedTuple):
    """One test function: its name as `TestA::test_b`, its node, and the block of statements that it stands in."""

    name: str
    node: FunctionNode
    block: list[ast.stmt]


def find_test_functions(source: str) -> tuple[DeclaredFunction, ...]:
    """All test functions in order, those within classes and blocks included. Raises SyntaxError."""
    return tuple(_functions(parse_module(source), ""))


def function_of(test: str) -> str:
    """The name of the function that a test is a case of: `TestA::test_b` of `TestA::test_b[1-x]`."""
    return test.partition("[")[0]


def source_of(source: str, function: DeclaredFunction) -> str:
    """The function's lines, decorators included, as they stand in the source."""
    lines = _lines(source)
    return "".join(lines[_first_line(function.node) - 1 : function.node.end_lineno])


def without_tests(source: str, names: Iterable[str]) -> str:
    """The source without the test functions of these names; every other line stays as it is.

    A block that would be left empty gets a `pass`. A name that is not there changes nothing. Raises SyntaxError.
    """
    gone = set(names)
    functions = [function for function in find_test_functions(source) if function.name in gone]
    lines = _lines(source)
    for function in reversed(functions):  # from the end, so that the numbers of the lines before it stay right
        first, last = _first_line(function.node) - 1, function.node.end_lineno or function.node.lineno
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        while last < len(lines) and not lines[last].strip():
            last += 1
        lines[first:last] = [f"{indent}pass\n"] if _is_emptied(function, functions) else []
    return "".join(lines)


def _is_emptied(function: DeclaredFunction, gone: list[DeclaredFunction]) -> bool:
    """Whether nothing stays in an indented block, asked of the first function in it: that one makes room for a pass."""
    nodes = [each.node for each in gone]
    return (
        function.node.col_offset > 0
        and function.block[0] is function.node
        and all(any(statement is node for node in nodes) for statement in function.block)
    )


def _functions(parent: ast.AST, prefix: str) -> Iterator[DeclaredFunction]:
    for block in _blocks(parent):
        for node in block:
            if isinstance(node, FunctionNode):
                if node.name.startswith("test"):
                    yield DeclaredFunction(prefix + node.name, node, block)
            elif isinstance(node, ast.ClassDef):
                yield from _functions(node, f"{prefix}{node.name}::")
            else:
                yield from _functions(node, prefix)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements of a node, those of its handlers included."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(node, "handlers", ()):
        yield from _blocks(handler)


def _first_line(node: FunctionNode) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _lines(source: str) -> list[str]:
    """The lines as the parser counts them, each with its own end; `str.splitlines` knows more kinds of ends."""
    return list(io.StringIO(source, newline=""))
