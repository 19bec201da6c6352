"""What of a solution its tests exercise, by the names that they and it mention: a rough call graph, read and never run.

A function counts as called wherever its name is mentioned, a method wherever any attribute of its name is. That takes
in a little too much and loses what is only called by `getattr`; a mutant that no test reaches survives and says so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from flyteplugins_codegen.source.declared_tests import parse_module

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Region(NamedTuple):
    """A function, as `main` or `Table.read`, or a statement of the module that gives a name its value."""

    name: str
    node: ast.stmt


def reachable_regions(module: ast.Module, tests: Iterable[str]) -> tuple[Region, ...]:
    """The functions and named values of the module that the tests lead to, in order. Raises SyntaxError.

    Where the tests mention none, those that `main` leads to.
    """
    regions = tuple(_regions(module.body))
    named = set().union(*(_mentioned(parse_module(source)) for source in tests))
    reached = _closure(regions, named)
    return reached or _closure(regions, {"main"})


def _closure(regions: tuple[Region, ...], names: set[str]) -> tuple[Region, ...]:
    """The regions that these names lead to, and those which these mention in turn."""
    found: set[Region] = set()
    while fresh := [region for region in regions if region not in found and _is_mentioned(region, names)]:
        found.update(fresh)
        names = names.union(*(_mentioned(region.node) for region in fresh))
    return tuple(region for region in regions if region in found)


def _is_mentioned(region: Region, names: set[str]) -> bool:
    owner, _, name = region.name.rpartition(".")
    is_special = name.startswith("__") and name.endswith("__")
    return (owner in names and (is_special or name in names)) if owner else name in names


def _regions(body: Iterable[ast.stmt], owner: str = "") -> Iterator[Region]:
    """Those of a module or a class. What stands under `if __name__` is no part of them, as no block of a module is."""
    for node in body:
        if isinstance(node, FunctionNode):
            yield Region(owner + node.name, node)
        elif isinstance(node, ast.ClassDef):
            yield from _regions(node.body, f"{owner}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not owner:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (Region(target.id, node) for target in targets[:1] if isinstance(target, ast.Name))


def _mentioned(tree: ast.AST) -> set[str]:
    """Every name, attribute and imported name in a tree."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found.update(alias.name for alias in node.names)
    return found
