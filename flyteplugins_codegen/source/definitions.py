"""A function as it is asked for: its signature and docstring, after the imports and functions that it may use."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.models.lengths import LONGEST_SOURCE_CHARS
from flyteplugins_codegen.parsing import parse_python
from flyteplugins_codegen.source.replies.lines import split_lines

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_REMEDY = 'give a signature, best with a docstring: \'def add(a, b):\\n    """The sum."""\\n\''


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """`text` ends with the function called `name`, and is Python once a body follows, indented by `indent`.

    `preamble` is the rest of what the definition was read from. `source` is Python: the text, with a body that does
    nothing where it has none.
    """

    text: str
    name: str
    preamble: str
    indent: str
    source: str


def read_definition(text: str, name: str | None = None) -> FunctionDefinition:
    """The function of this name in the text, by default the last one. A body of `...` or `pass` counts as none.

    Raises:
        ArgumentTypeError: the text or the name is no str.
        RequestError: the text is too long or no Python, or defines no such function at its top level.
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(f"the definition is {type(text).__name__}; pass a str: {_REMEDY}")
    if len(text) > LONGEST_SOURCE_CHARS:
        raise RequestError(
            f"the definition has {len(text):,} characters, more than {LONGEST_SOURCE_CHARS:,}; {_REMEDY}"
        )
    text = "\n".join(split_lines(text)).rstrip() + "\n"
    source, module = _parsed(text)
    found = _find(module.body, name)
    lines = [f"{line}\n" for line in source.removesuffix("\n").split("\n")]
    first = min([found.lineno, *(decorator.lineno for decorator in found.decorator_list)]) - 1
    last = found.end_lineno or len(lines)
    preamble = "".join([*lines[:first], *lines[last:]])
    function = "".join(lines[first:last])
    return FunctionDefinition(
        text=preamble + _without_stub(function),
        name=found.name,
        preamble=preamble,
        indent=_indent(lines, found),
        source=preamble + function,
    )


def _parsed(text: str) -> tuple[str, ast.Module]:
    """The text as it is, or with a body where it ends after the signature."""
    module = _parse(text)
    if isinstance(module, ast.Module):
        return text, module
    with_body = f"{text}    pass\n"
    completed = _parse(with_body)
    if isinstance(completed, ast.Module):
        return with_body, completed
    at = f", line {module.lineno}" if isinstance(module, SyntaxError) and module.lineno else ""
    said = module.msg if isinstance(module, SyntaxError) else str(module) or "it is nested too deeply"
    raise RequestError(f"the definition is no Python{at}: {said}; it begins {text[:80]!r}; {_REMEDY}")


def _parse(text: str) -> ast.Module | Exception:
    try:
        return parse_python(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return error


def _find(body: Sequence[ast.stmt], name: str | None) -> _Function:
    if name is not None and not isinstance(name, str):
        raise ArgumentTypeError(f"the entry point is {type(name).__name__}; pass the function's name as a str")
    functions = {each.name: each for each in body if isinstance(each, _Function)}
    if not functions:
        raise RequestError(f"the definition holds no function; {_REMEDY}")
    if name is None:
        return list(functions.values())[-1]
    if name not in functions:
        raise RequestError(f"the definition has no function {name!r:.100}; it defines {', '.join(functions)}")
    return functions[name]


def _indent(lines: Sequence[str], function: _Function) -> str:
    first = function.body[0]
    before = lines[first.lineno - 1].encode()[: first.col_offset].decode()
    return before if before and not before.strip() else "    "  # a body on the signature's own line says nothing


def _without_stub(function: str) -> str:
    """The function's text without a last statement that stands for what is to be written."""
    (parsed,) = parse_python(function).body
    last = parsed.body[-1] if isinstance(parsed, _Function) else None
    if not isinstance(last, ast.Pass | ast.Expr) or (isinstance(last, ast.Expr) and not _is_ellipsis(last.value)):
        return function
    lines = function.split("\n")[: last.lineno]
    return "\n".join([*lines[:-1], lines[-1].encode()[: last.col_offset].decode().rstrip(" \t;")]).rstrip() + "\n"


def _is_ellipsis(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is ...
