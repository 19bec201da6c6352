"""Programs of ours that run inside a sandbox, in the forms in which they are shipped: one place for all of them.

A program is a module of the standard library alone. It gets inside as a file of the job (`module_path`), as one
argument of `python -c` (`compact_source`), or with other modules in one archive (`pack_modules`), which its first file
unpacks.
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

MARSHAL_VERSION: Final = 2  # which every Python reads that may run inside


class ModuleArchive(bytes):
    """Modules in one file: their code for interpreters of this one's version, and their source for any other.

    As `marshal` reads it: the magic number of the version, the code by module name as a text of its own, and the source
    by module name. `imported_ahead` are names and sources of modules that a warm worker may import before it gets a job
    with this archive; the job's process then does without it.
    """

    imported_ahead: tuple[tuple[str, bytes], ...] = ()


def module_path(module: ModuleType) -> Path:
    """The source file of a program that is shipped as it is."""
    return Path(module.__file__ or "")


def pack_modules(
    sources: Mapping[str, bytes],
    *,
    file_name: str = "{}.py",
    optimize: int = -1,
    ahead: Mapping[str, bytes] | None = None,
) -> ModuleArchive:
    """An archive of modules, which its reader imports in this order.

    `file_name` is what tracebacks name a module's file. `ahead` are the modules that a warm worker may import before it
    gets a job with the archive: all of these or none.
    """
    codes = {
        name: compile(source, file_name.format(name), "exec", dont_inherit=True, optimize=optimize)
        for name, source in sources.items()
    }
    archive = ModuleArchive(marshal.dumps((MAGIC_NUMBER, marshal.dumps(codes), dict(sources)), MARSHAL_VERSION))
    archive.imported_ahead = tuple((ahead or {}).items())
    return archive


@cache
def compact_source(file: str) -> str:
    """The source of a program for `python -c`, without its documentation and annotations.

    A script in a file costs the interpreter its path hooks, and every line of prose and each annotation its compiler.
    """
    return ast.unparse(_Compaction().visit(ast.parse(Path(file).read_text())))


class _Compaction(ast.NodeTransformer):
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
