"""Tests of one function that are judged by values, and the text in which the judge inside the sandbox reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.judging.values.inside.plain_data import NotPlainError, Writer, write_call, write_text

if TYPE_CHECKING:
    from flyteplugins_codegen.judging.values.inside.plain_data import Tree


@dataclass(frozen=True, slots=True)
class CheckTests:
    """HumanEval's kind: `source` defines `check(candidate)`, with its imports and helpers."""

    source: str


@dataclass(frozen=True, slots=True)
class AssertTests:
    """MBPP's kind: `setup`, then each of `asserts` in turn, which call the entry point by its name.

    All run in one namespace. An entry may be more than one statement, such as a whole test script of MBPP+.
    """

    asserts: tuple[str, ...]
    setup: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """The arguments of one call and the value that it should return, all of them plain data (see `plain_data`)."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = None


@dataclass(frozen=True, slots=True)
class PairTests:
    """Calls and what they return. Floats may differ by `tolerance`, absolutely or relatively.

    `from_json`: the expected values were read from JSON, which has no tuples, so a list also matches a tuple. The
    values are written as text when the first solution is judged; do not change them after that.
    """

    pairs: tuple[Pair, ...]
    tolerance: float = 0.0
    from_json: bool = False


ValuesTests: TypeAlias = CheckTests | AssertTests | PairTests


def can_fail(tests: ValuesTests) -> bool:
    """Whether the tests contain anything that a solution could fail at: a pair, an `assert` or a `raise`."""
    if isinstance(tests, PairTests):
        return bool(tests.pairs)
    texts = [tests.source] if isinstance(tests, CheckTests) else [tests.setup, *tests.asserts]
    return any(word in text for text in texts for word in ("assert", "raise"))


def case_names(tests: ValuesTests) -> tuple[str, ...]:
    """The names of the cases: `check`; or `assert 1`, `assert 2`, ...; or `pair 1`, `pair 2`, ..."""
    if isinstance(tests, CheckTests):
        return ("check",)
    kind, cases = ("pair", tests.pairs) if isinstance(tests, PairTests) else ("assert", tests.asserts)
    return tuple(f"{kind} {number}" for number in range(1, len(cases) + 1))


def render_tests(tests: ValuesTests, context: str = "") -> bytes:
    """The tests as the judge inside reads them.

    `context` is trusted source whose names the tests may use, such as a problem's prompt with its helper functions.
    Raises RequestError for a pair that holds something that is not plain data, and for tests that are too long.
    """
    return _written(_Identity(tests), context)


class _Identity:
    """A cache key that compares tests by identity: their values may not be hashable."""

    def __init__(self, tests: ValuesTests) -> None:
        self.tests = tests

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.tests is other.tests

    def __hash__(self) -> int:
        return id(self.tests)


@lru_cache(maxsize=16)  # many solutions in a row are judged by the same tests
def _written(identity: _Identity, context: str) -> bytes:
    return message_text(_tests_tree(identity.tests, context))


def _tests_tree(tests: ValuesTests, context: str) -> Tree:
    """The tests as `judge.JudgingPlan` reads them: texts by the file names in tracebacks, or pairs with their rule."""
    if isinstance(tests, PairTests):
        pairs = [_pair_texts(number, pair) for number, pair in enumerate(tests.pairs, 1)]
        return [[], [pairs, [tests.tolerance, tests.tolerance], tests.from_json]]
    if isinstance(tests, CheckTests):
        return [[["context", context], ["checks", tests.source]], None]
    cases = [list(case) for case in zip(case_names(tests), tests.asserts, strict=True)]
    return [[["context", context], ["checks", tests.setup], *cases], None]


def _pair_texts(number: int, pair: Pair) -> list[str]:
    """The arguments and the expected value as two texts, which the judge forwards and compares without reading them."""
    try:
        # Each is written by itself: a change that the call makes to its arguments must not change what is expected.
        arguments = write_call(pair.args, dict(pair.kwargs), _refuse)
        expected = write_text(Writer(_refuse, [], exactly=True).tree(pair.expected))
    except NotPlainError as error:
        raise RequestError(f"pair {number} holds what is no plain data: {error}; judge it by a suite") from None
    return [arguments.decode(), expected.decode()]


def _refuse(value: Any) -> Tree:
    raise NotPlainError(f"{value!r:.100} is a {type(value).__name__}")


def message_text(message: Tree) -> bytes:
    """A message for the judge inside. Raises RequestError if it is too long."""
    try:
        return write_text(message)
    except NotPlainError as error:
        raise RequestError(f"the solution and its checks are too long to be judged: {error}") from None
