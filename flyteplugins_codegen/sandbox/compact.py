"""Programs of ours that run inside, made as short as `python -c` likes them.

A script in a file costs the interpreter its path hooks, and every line of prose and each annotation its compiler.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def compact_source(file: str) -> str:
    """The source of a module of ours without documentation, annotations and what is imported for these."""
    return ast.unparse(_Shortened().visit(ast.parse(Path(file).read_text())))


class _Shortened(ast.NodeTransformer):
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
