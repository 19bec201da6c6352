"""Two test modules as one: what the second adds stands after the first, under names that the first does not have."""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Final

from flyteplugins_codegen.source.declared_tests import parse_module

_IMPORTS: Final = (ast.Import, ast.ImportFrom)


def merge_tests(tests: str, added: str) -> str:
    """The tests with those that are added. Raises SyntaxError where either is not Python.

    Every line of `tests` stays as it is; imports that are added follow those that are there. Of what is added, an
    import or a definition that is there already, word for word, is left out; one whose name is taken gets another
    (`run` is `run_2` then), wherever what is added speaks of it. A `main` guard and `from __future__` go, as they would
    stand in the middle.
    """
    try:
        return _merged(tests, added)
    except RecursionError:
        raise SyntaxError("the tests are nested too deeply to be put together") from None


def _merged(tests: str, added: str) -> str:
    ours, theirs = parse_module(tests), parse_module(added)
    taken = {name for node in ours.body for name in _bound(node)}
    present = {ast.dump(node) for node in ours.body}
    wanted = [node for node in theirs.body if ast.dump(node) not in present and not _is_idle(node)]
    clashing = {name for node in wanted if not _is_shared(node) for name in _bound(node)} & taken
    used = taken | {name for node in ast.walk(theirs) for name in _bound(node)}
    names = {name: _unused(name, used) for name in sorted(clashing)}
    renamed = [_Renamed(names).visit(node) for node in wanted]
    imports = [node for node in renamed if isinstance(node, _IMPORTS)]
    parts = [_with_imports(tests, ours, imports).rstrip("\n")]
    parts += [ast.unparse(node) for node in renamed if node not in imports]
    return "\n\n\n".join(parts) + "\n"


def _with_imports(tests: str, module: ast.Module, added: Sequence[ast.stmt]) -> str:
    """The text with imports more, after the last one that it begins with, else at its end."""
    ends = [node.end_lineno or 0 for node in module.body if isinstance(node, _IMPORTS)]
    lines = list(io.StringIO(tests if tests.endswith("\n") else f"{tests}\n", newline=""))
    place = ends[-1] if ends else len(lines)
    return "".join([*lines[:place], *(f"{ast.unparse(node)}\n" for node in added), *lines[place:]])


def _is_idle(node: ast.stmt) -> bool:
    """Documentation, `from __future__`, and what runs only where the module is a program."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    if isinstance(node, ast.If):
        return any(isinstance(each, ast.Name) and each.id == "__name__" for each in ast.walk(node.test))
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_shared(node: ast.stmt) -> bool:
    """Whether it is an import that gives a module its own name, by which it is the same everywhere."""
    return isinstance(node, ast.Import) and all(alias.asname is None for alias in node.names)


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a statement gives a meaning."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
        case ast.Assign(targets=targets):
            yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _unused(name: str, used: set[str]) -> str:
    return next(f"{name}_{number}" for number in count(2) if f"{name}_{number}" not in used)


class _Renamed(ast.NodeTransformer):
    """Names by others, those of fixtures in the arguments of functions too."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._names.get(node.arg, node.arg)
        return self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        node.arg = self._names.get(node.arg, node.arg) if node.arg else None
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> ast.AST:
        bound = node.asname or node.name.partition(".")[0]
        if bound in self._names:
            node.asname = self._names[bound]
        return node
