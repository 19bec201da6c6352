"""Mutants of a solution (`mutation/`): chosen among all changes, a bounded number, the same ones each time."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from flyteplugins_codegen.source.declared_tests import parse_module
from flyteplugins_codegen.source.mutation.changes import Change, Kind, find_changes
from flyteplugins_codegen.source.mutation.reachable import reachable_regions

MOST_MUTANTS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A solution with one mistake. Every line but those of the mistake stands where it stood; `line` counts from 1."""

    kind: Kind
    function: str
    line: int
    description: str
    code: str

    @property
    def told(self) -> str:
        """The mutant in one line."""
        return f"line {self.line}, {self.function}: {self.description}"


def make_mutants(code: str, tests: Iterable[str] = (), *, most: int = MOST_MUTANTS) -> tuple[Mutant, ...]:
    """Mutants of what the tests exercise, in the order of their lines.

    Where there are more than `most`, they are spread over the functions and the kinds, and over each function's lines
    by a hash, so that the same code has the same mutants. Those that may never end come last. Raises SyntaxError.
    """
    source = code.encode()
    module = parse_module(code)
    found = [
        (region.name, change)
        for region in reachable_regions(module, tests)
        for change in _changes_in(source, region.node)
    ]
    chosen = _spread(list(dict.fromkeys(found)), most)
    mutants = [_mutant(source, function, change) for function, change in chosen]
    return tuple(sorted(mutants, key=lambda mutant: (mutant.line, mutant.description)))


def _changes_in(source: bytes, node: ast.AST) -> list[Change]:
    """All changes of a function; none of one that is nested too deeply to be walked, such as a sum of 1,000 terms."""
    try:
        return list(find_changes(source, node))
    except RecursionError:
        return []


def _spread(found: Sequence[tuple[str, Change]], most: int) -> list[tuple[str, Change]]:
    """As many, one of each kind in each function in turn."""
    groups: dict[tuple[bool, str, Kind], list[tuple[str, Change]]] = defaultdict(list)
    for function, change in found:
        groups[change.loops, function, change.kind].append((function, change))
    for group in groups.values():
        group.sort(key=_rank)
    turns = sorted(groups, key=lambda key: (key[0], _digest(key[1], key[2])))
    ending = _in_turn([groups[key] for key in turns if not key[0]])
    looping = _in_turn([groups[key] for key in turns if key[0]])
    return [*ending, *looping][:most]


def _in_turn(groups: Sequence[list[tuple[str, Change]]]) -> Iterator[tuple[str, Change]]:
    for number in range(max(map(len, groups), default=0)):
        yield from (group[number] for group in groups if number < len(group))


def _rank(entry: tuple[str, Change]) -> bytes:
    _, change = entry
    return _digest(change.span, change.text)


def _digest(*parts: object) -> bytes:
    return blake2b(repr(parts).encode(), digest_size=8).digest()


def _mutant(source: bytes, function: str, change: Change) -> Mutant:
    first, start, last, end = change.span
    lines = source.splitlines(keepends=True)
    before = b"".join(lines[: first - 1]) + lines[first - 1][:start]
    after = lines[last - 1][end:] + b"".join(lines[last:])
    return Mutant(
        kind=change.kind,
        function=function,
        line=first,
        description=change.description,
        code=(before + change.text.encode() + after).decode(),
    )
