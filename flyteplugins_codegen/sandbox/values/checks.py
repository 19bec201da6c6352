"""What a solution is held against when it is judged by values, and how the judge inside is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.sandbox.values.plain_data import NotPlainError, Writer, write_call, write_text

if TYPE_CHECKING:
    from flyteplugins_codegen.sandbox.values.plain_data import Tree


@dataclass(frozen=True, slots=True)
class CheckFunction:
    """HumanEval's kind: `source` defines `check(candidate)`, with its imports and helpers.

    `context` is trusted source whose names the check may use, such as the problem's prompt with its helper functions;
    what only the solution defines is never trusted with a comparison.
    """

    source: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class AssertList:
    """MBPP's kind: each of `asserts` is a case, run in turn after `setup` in one namespace; `context` as above.

    An entry may be more than one statement, such as one of MBPP+'s test scripts as a whole.
    """

    asserts: tuple[str, ...]
    setup: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """The arguments of one call and what it is expected to return, all of them plain data (see `plain_data`)."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = None


@dataclass(frozen=True, slots=True)
class Pairs:
    """Examples of input and output, compared as `comparison` says, floats within the tolerances of `math.isclose`.

    `from_json`: what is expected was read from JSON, which has no tuples, so that a list there stands for either. What
    the pairs hold is written down when the first solution is held against it, and is not to change after that.
    """

    pairs: tuple[Pair, ...]
    relative_tolerance: float = 0.0
    absolute_tolerance: float = 0.0
    from_json: bool = False


Checks: TypeAlias = CheckFunction | AssertList | Pairs


def can_fail(checks: Checks) -> bool:
    """Whether there is anything in them that a solution could fail at."""
    if isinstance(checks, Pairs):
        return bool(checks.pairs)
    texts = [checks.source] if isinstance(checks, CheckFunction) else [checks.setup, *checks.asserts]
    return any(word in text for text in texts for word in ("assert", "raise"))


def case_names(checks: Checks) -> tuple[str, ...]:
    """The names of the cases: `check`, or `assert 1`, `assert 2`, or `pair 1`, `pair 2` and so on."""
    if isinstance(checks, CheckFunction):
        return ("check",)
    kind, cases = ("pair", checks.pairs) if isinstance(checks, Pairs) else ("assert", checks.asserts)
    return tuple(f"{kind} {number}" for number in range(1, len(cases) + 1))


def checks_text(checks: Checks) -> bytes:
    """The checks as the judge reads them. Raises RequestError for a pair that holds what is no plain data."""
    return _written(_Identity(checks))


class _Identity:
    """One object, whatever it is equal to; what it holds may not be hashable."""

    def __init__(self, checks: Checks) -> None:
        self.checks = checks

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.checks is other.checks

    def __hash__(self) -> int:
        return id(self.checks)


@lru_cache(maxsize=16)
def _written(identity: _Identity) -> bytes:
    """Kept, because many solutions in a row are held against the same checks."""
    return text_of(_told(identity.checks))


def _told(checks: Checks) -> Tree:
    """The checks as `judging.Plan` takes them: texts by the names that tracebacks show, or pairs and their rule."""
    if isinstance(checks, Pairs):
        pairs = [_told_pair(number, pair) for number, pair in enumerate(checks.pairs, 1)]
        return [[], [pairs, [checks.relative_tolerance, checks.absolute_tolerance], checks.from_json]]
    if isinstance(checks, CheckFunction):
        return [[["context", checks.context], ["checks", checks.source]], None]
    cases = [list(case) for case in zip(case_names(checks), checks.asserts, strict=True)]
    return [[["context", checks.context], ["checks", checks.setup], *cases], None]


def _told_pair(number: int, pair: Pair) -> list[str]:
    """Both as texts, which the judge passes on, or compares, as they are."""
    try:
        # Each by itself: what a call changes in its arguments must not be what is expected of it.
        given = write_call(pair.args, dict(pair.kwargs), _refuse)
        expected = write_text(Writer(_refuse, [], exactly=True).tree(pair.expected))
    except NotPlainError as error:
        raise RequestError(f"pair {number} holds what is no plain data: {error}; judge it by a suite") from None
    return [given.decode(), expected.decode()]


def _refuse(value: Any) -> Tree:
    raise NotPlainError(f"{value!r:.100} is a {type(value).__name__}")


def text_of(told: Tree) -> bytes:
    """What the judge is told. Raises RequestError for what is too long."""
    try:
        return write_text(told)
    except NotPlainError as error:
        raise RequestError(f"the solution and its checks are too long to be judged: {error}") from None
