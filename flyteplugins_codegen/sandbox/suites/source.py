"""What the text of a suite shows of its tests, for the verdict: their functions, and whether any may skip."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from flyteplugins_codegen.parsing import parse_python

_SKIPPING: Final = frozenset(
    {"skip", "skipif", "skipIf", "skipUnless", "skipTest", "SkipTest", "importorskip", "xfail", "expectedFailure"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSource:
    """`functions` are the test functions, as `test_a` and `TestB::test_c`; `bases` what each class is made of."""

    functions: frozenset[str] = frozenset()
    bases: Mapping[str, tuple[str, ...]]
    may_skip: bool = False

    def functions_of(self, test: str) -> frozenset[str]:
        """The functions of which a test may be the run: its own, or the one that its class inherits.

        None where the text does not show any, for a test that was made while the tests were imported.
        """
        folder, _, name = test.partition("[")[0].rpartition("::")
        classes = self._lineage(folder)
        own = (f"{each}::{name}" if each else name for each in classes)
        return self.functions.intersection(own)

    def _lineage(self, name: str) -> tuple[str, ...]:
        """The class and all that it is made of, as far as the module shows."""
        found: dict[str, None] = {}
        waiting = [name]
        while waiting:
            each = waiting.pop()
            if each not in found:
                found[each] = None
                waiting += self.bases.get(each, ())
        return tuple(found)


def read_suite(source: str) -> SuiteSource:
    """What the text shows, which is Python: it has been compiled before. Raises SyntaxError otherwise."""
    module = parse_python(source)
    bases = {name: _base_names(node) for name, node in _classes(module.body)}
    names = {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(module)}
    imported = {alias.name for node in ast.walk(module) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return SuiteSource(
        functions=frozenset(_functions(module.body)),
        bases=bases,
        may_skip=not _SKIPPING.isdisjoint(names | imported),
    )


def _functions(body: Iterable[ast.AST], prefix: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("test"):
                yield prefix + node.name
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}::")
        else:
            yield from _functions(ast.iter_child_nodes(node), prefix)


def _classes(body: Iterable[ast.AST], prefix: str = "") -> Iterator[tuple[str, ast.ClassDef]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            yield from _classes(node.body, f"{prefix}{node.name}::")
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _classes(ast.iter_child_nodes(node), prefix)


def _base_names(node: ast.ClassDef) -> tuple[str, ...]:
    return tuple(ast.unparse(base).replace(".", "::") for base in node.bases)
