"""What Python's own parser says of a short text: words of prose, commands and settings parse as Python too."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from threading import Lock
from typing import Final

from flyteplugins_codegen.parsing import parse_python

_PARSES: Final = 2.0
_IS_CUT_OFF: Final = 1.0
_PARSES_NOT: Final = -1.5
# JSON was tried before: what begins with a brace, parses, and is none, is a dict's display.
_IS_DISPLAY: Final = 6.5
_CUT_OFF: Final = re.compile(r"never closed|expected an indented block|unterminated triple|unexpected EOF")
_WARNINGS: Final = Lock()  # what filters them belongs to the whole process, and is put back in order
_TELLING: Final = (
    ast.Call,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.Subscript,
    ast.JoinedStr,
    ast.Await,
    ast.Set,
)
_NAMES_OF_OTHERS: Final = frozenset({"true", "false", "null", "undefined"})


def weigh_python(text: str) -> float:
    """How strongly the parser's verdict speaks for Python: above 0.0 for statements, below for what does not parse."""
    try:
        module = _parse(textwrap.dedent(text))
    except SyntaxError as error:
        return _IS_CUT_OFF if _CUT_OFF.search(str(error)) else _PARSES_NOT
    except (ValueError, RecursionError, MemoryError):
        return _PARSES_NOT
    if text.rstrip().endswith(";"):
        return 0.0
    return max((_weigh_statement(node) for node in module.body), default=0.0)


def _parse(text: str) -> ast.Module:
    """The syntax tree, without the warnings that the parser gives: of escapes that are none, of a `1 is 1`."""
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse_python(text)


def _weigh_statement(node: ast.stmt) -> float:
    if isinstance(node, ast.AnnAssign):
        return _PARSES if node.value else 0.0  # `key: value` is an annotation as well
    return _weigh_expression(node.value) if isinstance(node, ast.Expr) else _PARSES


def _weigh_expression(node: ast.expr) -> float:
    """0.0 for names, numbers and what is made of them: `word`, `a - b` and `1, 2` are written in prose too."""
    if isinstance(node, ast.Dict):
        return _weigh_display(node)
    if isinstance(node, ast.List | ast.Set):
        return 0.0 if all(isinstance(element, ast.Name) for element in node.elts) else _PARSES
    if isinstance(node, ast.BinOp | ast.Compare):
        return _PARSES if any(isinstance(part, _TELLING) or _is_string(part) for part in ast.walk(node)) else 0.0
    return _PARSES if isinstance(node, _TELLING) else 0.0


def _weigh_display(node: ast.Dict) -> float:
    """0.0 where it is an object of JavaScript, or YAML: its keys or values are names that Python does not have."""
    keys = any(isinstance(key, ast.Name) for key in node.keys)
    values = any(isinstance(part, ast.Name) and part.id in _NAMES_OF_OTHERS for part in ast.walk(node))
    return 0.0 if keys or values else _IS_DISPLAY


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
