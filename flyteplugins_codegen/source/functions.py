"""The functions of a file, found and replaced by their names, read from its syntax tree."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from flyteplugins_codegen.parsing import parse_python

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSpan:
    """One function of a file: `name` as in `Class.method`, its first and last line, counted from 1, with decorators."""

    name: str
    first_line: int
    last_line: int
    indent: str


def functions_of(source: str) -> dict[str, FunctionSpan]:
    """The functions and methods by name, in order; of several definitions of one name the last, as Python has it.

    Those inside functions are left out. Raises SyntaxError or ValueError for text that is no Python.
    """
    lines = source.split("\n")
    return {name: _span(name, node, lines) for name, node in _functions(parse_python(source).body, "")}


def replace_function(source: str, span: FunctionSpan, code: str) -> str:
    """The file with other code in the function's place, indented as that is. The file's line ends are kept."""
    line_end = "\r\n" if "\r\n" in source else "\n"
    body = textwrap.indent(textwrap.dedent(code.replace("\r\n", "\n")).strip("\n"), span.indent)
    lines = source.split("\n")
    last = "\r" if lines[span.last_line - 1].endswith("\r") else ""
    changed = body.replace("\n", line_end) + last
    return "\n".join([*lines[: span.first_line - 1], changed, *lines[span.last_line :]])


def _functions(body: Iterable[ast.stmt], prefix: str) -> Iterator[tuple[str, _Function]]:
    for node in body:
        if isinstance(node, _Function):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            parts = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
            yield from _functions([statement for part in parts for statement in part], prefix)


def _span(name: str, node: _Function, lines: list[str]) -> FunctionSpan:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    line = lines[first - 1]
    return FunctionSpan(
        name=name,
        first_line=first,
        last_line=node.end_lineno or node.lineno,
        indent=line[: len(line) - len(line.lstrip())],
    )
