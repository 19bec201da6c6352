"""What a piece of code imports, read from its syntax tree; the code never runs."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator

from flyteplugins_codegen.parsing import parse_python

_TYPE_CHECKING = frozenset({"TYPE_CHECKING", "typing.TYPE_CHECKING", "t.TYPE_CHECKING"})
_IMPORTING_CALLS = frozenset({"importlib.import_module", "import_module", "__import__"})
_NO_DISTRIBUTION = sys.stdlib_module_names | {"__main__"}


def imported_names(code: str) -> tuple[str, ...]:
    """Full dotted names of the absolute imports, sorted: `from google.cloud import storage` is `google.cloud.storage`.

    Imports inside functions and `try` count, as do `importlib.import_module` and `__import__` with a literal. What
    stands under `if TYPE_CHECKING:` does not, for it never runs. Raises SyntaxError for code that does not parse.
    """
    return tuple(sorted({name for node in _running_nodes(_parse(code)) for name in _names_of(node)}))


def imported_modules(code: str) -> tuple[str, ...]:
    """Top-level names of the absolute imports, sorted. Raises SyntaxError for code that does not parse."""
    return tuple(sorted({name.partition(".")[0] for name in imported_names(code)}))


def third_party_modules(code: str, own: Collection[str] = ("solution",)) -> tuple[str, ...]:
    """Imported top-level names that neither the standard library nor `own` provides. Raises SyntaxError."""
    return tuple(name for name in imported_modules(code) if name not in _NO_DISTRIBUTION and name not in own)


def third_party_names(code: str, own: Collection[str] = ("solution",)) -> tuple[str, ...]:
    """As `third_party_modules`, but full dotted names, by which namespace packages are told. Raises SyntaxError."""
    wanted = frozenset(third_party_modules(code, own))
    return tuple(name for name in imported_names(code) if name.partition(".")[0] in wanted)


def _parse(code: str) -> ast.Module:
    try:
        return parse_python(code)
    except (ValueError, RecursionError, MemoryError) as error:
        # Null bytes, and nesting too deep for the parser: Python itself could not run it either.
        raise SyntaxError(f"the code cannot be parsed: {type(error).__name__} {error}") from error


def _running_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.If) and _dotted(node.test) in _TYPE_CHECKING:
            pending.extend(node.orelse)
        else:
            pending.extend(ast.iter_child_nodes(node))


def _names_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield from (node.module if alias.name == "*" else f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and _dotted(node.func) in _IMPORTING_CALLS and node.args:
        yield from _literal_module(node.args[0])


def _literal_module(argument: ast.expr) -> Iterator[str]:
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        name = argument.value
        if all(part.isidentifier() for part in name.split(".")):
            yield name


def _dotted(node: ast.expr) -> str:
    """`a.b` for the expression `a.b`, "" for anything that is not a plain dotted name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""
