"""Mutants of a solution: copies with one small mistake each, in the code that its tests exercise.

What a mistake may be is in `mutations`. The same code and tests always give the same mutants. Nothing is run here: what
the tests exercise is estimated by a rough call graph of the names that they mention.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Final, NamedTuple, get_args

from flyteplugins_codegen.source.mutations.change import Change, MutationKind
from flyteplugins_codegen.source.mutations.operators import find_changes
from flyteplugins_codegen.source.python import FunctionNode, is_python, parse_module

MOST_MUTANTS: Final = 16
_KINDS: Final[tuple[MutationKind, ...]] = get_args(MutationKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A solution with one mistake. All other lines keep their numbers; `line` counts from 1.

    `before` and `after` are the lines that the mistake changes, as they are in the solution and in the mutant.
    """

    kind: MutationKind
    function: str
    line: int
    description: str
    code: str
    before: str
    after: str

    @property
    def diff(self) -> str:
        """The changed lines as a diff shows them: each old line after `-`, then each new line after `+`."""
        old, new = self.before.splitlines(), self.after.splitlines()
        return "\n".join([*(f"-{line}" for line in old), *(f"+{line}" for line in new if line.strip(" \\\t"))])

    @property
    def summary(self) -> str:
        """The mutant in one line."""
        return f"line {self.line}, {self.function}: {self.description}"


def make_mutants(code: str, tests: Iterable[str] = (), *, most: int = MOST_MUTANTS) -> tuple[Mutant, ...]:
    """At most `most` mutants of the code that the tests exercise, in the order of their lines. Raises SyntaxError.

    If there are more, the choice is spread over kinds and functions, and within those by a hash, so that the same code
    gets the same mutants. Mutants that may never end are chosen last.
    """
    source = code.encode()
    module = parse_module(code)
    changes = [
        (region.name, change)
        for region in reachable_regions(module, tests)
        for change in _changes_in(source, region.node)
    ]
    made = (_mutant(source, function, change) for function, change in _spread(list(dict.fromkeys(changes))))
    valid = (mutant for mutant in made if is_python(mutant.code))
    return tuple(sorted(islice(valid, most), key=lambda mutant: (mutant.line, mutant.description)))


def _changes_in(source: bytes, node: ast.AST) -> list[Change]:
    """All changes in a node; none if it is nested too deeply to be walked, such as a sum of 1,000 terms."""
    try:
        return list(find_changes(source, node))
    except RecursionError:
        return []


def _spread(changes: Sequence[tuple[str, Change]]) -> list[tuple[str, Change]]:
    """All changes, one of each kind in turn, and within a kind one of each function in turn."""
    groups: dict[tuple[bool, MutationKind], dict[str, list[tuple[str, Change]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for function, change in changes:
        groups[change.loops, change.kind][function].append((function, change))
    spread: dict[tuple[bool, MutationKind], list[tuple[str, Change]]] = {}
    for key, functions in groups.items():
        for group in functions.values():
            group.sort(key=lambda entry: _digest(entry[1].span, entry[1].text))
        names = sorted(functions, key=_digest)
        spread[key] = list(_in_turn([functions[name] for name in names]))
    ending, looping = ([spread[loops, kind] for kind in _KINDS if (loops, kind) in spread] for loops in (False, True))
    return [*_in_turn(ending), *_in_turn(looping)]


def _in_turn(groups: Sequence[list[tuple[str, Change]]]) -> Iterator[tuple[str, Change]]:
    for number in range(max(map(len, groups), default=0)):
        yield from (group[number] for group in groups if number < len(group))


def _digest(*parts: object) -> bytes:
    return blake2b(repr(parts).encode(), digest_size=8).digest()


def _mutant(source: bytes, function: str, change: Change) -> Mutant:
    first, start, last, end = change.span
    lines = source.splitlines(keepends=True)
    before = b"".join(lines[: first - 1]) + lines[first - 1][:start]
    after = lines[last - 1][end:] + b"".join(lines[last:])
    code = before + change.text.encode() + after
    return Mutant(
        kind=change.kind,
        function=function,
        line=first,
        description=change.description,
        code=code.decode(),
        before=b"".join(lines[first - 1 : last]).decode().rstrip(),
        after=b"".join(code.splitlines(keepends=True)[first - 1 : last]).decode().rstrip(),
    )


# --- the code that tests exercise -------------------------------------------------------------------------------------


class CodeRegion(NamedTuple):
    """A function, named `main` or `Table.read`, or a module-level assignment."""

    name: str
    node: ast.stmt


def reachable_regions(module: ast.Module, tests: Iterable[str]) -> tuple[CodeRegion, ...]:
    """The functions and assignments of the module that the tests lead to, in order. Raises SyntaxError.

    If the tests mention none, those that `main` leads to.
    """
    regions = tuple(_regions(module.body))
    names = set().union(*(_mentioned(parse_module(source)) for source in tests))
    return _closure(regions, names) or _closure(regions, {"main"})


def _closure(regions: tuple[CodeRegion, ...], names: set[str]) -> tuple[CodeRegion, ...]:
    """The regions that these names mention, directly or through other regions."""
    reached: set[CodeRegion] = set()
    while new := [region for region in regions if region not in reached and _is_mentioned(region, names)]:
        reached.update(new)
        names = names.union(*(_mentioned(region.node) for region in new))
    return tuple(region for region in regions if region in reached)


def _is_mentioned(region: CodeRegion, names: set[str]) -> bool:
    owner, _, name = region.name.rpartition(".")
    is_special = name.startswith("__") and name.endswith("__")
    return (owner in names and (is_special or name in names)) if owner else name in names


def _regions(body: Iterable[ast.stmt], owner: str = "") -> Iterator[CodeRegion]:
    """The regions of a module or a class, without those in blocks such as `if __name__ == ...`."""
    for node in body:
        if isinstance(node, FunctionNode):
            yield CodeRegion(owner + node.name, node)
        elif isinstance(node, ast.ClassDef):
            yield from _regions(node.body, f"{owner}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not owner:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (CodeRegion(target.id, node) for target in targets[:1] if isinstance(target, ast.Name))


def _mentioned(tree: ast.AST) -> set[str]:
    """Every name, attribute and imported name in a tree."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            names.update(alias.name for alias in node.names)
    return names
