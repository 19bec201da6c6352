"""Shipping our own programs into a sandbox.

Such a program is a module that imports only the standard library. It is shipped as a file of the job (`module_path`),
as one argument of `python -c` (`compact_source`), or with other modules in one archive (`pack_modules`), which the
program's first file unpacks.
"""

from __future__ import annotations

import ast
import marshal
from collections.abc import Mapping
from functools import cache
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import ModuleType
from typing import Final

MARSHAL_VERSION: Final = 2  # every Python that may run inside reads it; its floats and texts have not changed since


class ModuleArchive(bytes):
    """Modules in one file: their code for interpreters of this one's version, and their source for any other.

    It is marshalled data: the version's magic number, the code by module name (marshalled by itself), and the source
    by module name. `imported_ahead` are the names and sources of modules that a warm worker imports before it gets a
    job with this archive; such a job does not get the file.
    """

    imported_ahead: tuple[tuple[str, bytes], ...] = ()


def module_path(module: ModuleType) -> Path:
    """The source file of a program that is shipped unchanged."""
    return Path(module.__file__ or "")


def pack_modules(
    sources: Mapping[str, bytes],
    *,
    file_name: str = "{}.py",
    optimize: int = -1,
    ahead: Mapping[str, bytes] | None = None,
) -> ModuleArchive:
    """An archive of modules, in the order in which its reader imports them.

    `file_name` is the format of the file names in tracebacks. `ahead` are the modules that a warm worker may import
    before it gets a job with the archive: all of these or none.
    """
    codes = {
        name: compile(source, file_name.format(name), "exec", dont_inherit=True, optimize=optimize)
        for name, source in sources.items()
    }
    archive = ModuleArchive(marshal.dumps((MAGIC_NUMBER, marshal.dumps(codes), dict(sources)), MARSHAL_VERSION))
    archive.imported_ahead = tuple((ahead or {}).items())
    return archive


@cache
def compact_source(path: Path) -> str:
    """The source of a program for `python -c`, without docstrings, comments and annotations.

    This starts faster: a script in a file would need the interpreter's path hooks, and its compiler has less to read.
    """
    return ast.unparse(_Compactor().visit(ast.parse(path.read_text())))


class _Compactor(ast.NodeTransformer):
    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if node.module == "__future__" else node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node
