"""Whether a problem's tests can be run at all: where they cannot, that is told before anything runs."""

from __future__ import annotations

from typing import Final

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.judging.by_values import checks_of
from flyteplugins_codegen.evaluation.values import (
    AssertTests,
    CheckTests,
    PairTests,
    Problem,
    PytestTests,
    StdinTests,
    Tests,
    UnittestTests,
)
from flyteplugins_codegen.sandbox.python_errors import syntax_cause
from flyteplugins_codegen.sandbox.values.checks import can_fail, checks_text
from flyteplugins_codegen.source.declared_tests import declared_tests

_REMEDY: Final = "mend its tests, or leave it out"


def check_entry_point(problem: Problem) -> None:
    """Raise RequestError where tests that call one have no entry point."""
    if isinstance(problem.tests, CheckTests | AssertTests | PairTests):
        cause = syntax_cause(f"({problem.entry_point})", "entry_point")
        if cause is not None or not problem.entry_point.strip():
            told = f"its entry_point is {problem.entry_point!r}; name the function that its tests call"
            raise RequestError(f"problem {problem.task_id!r}: {told}")


def check_tests(problem: Problem) -> None:
    """Raise RequestError, with the problem's name, for tests that are no Python, test nothing, or are no plain data."""
    try:
        flaw = _flaw(problem.tests)
    except RequestError as error:
        flaw = str(error)
    if flaw:
        raise RequestError(f"problem {problem.task_id!r}: {flaw}; {_REMEDY}")


def _flaw(tests: Tests) -> str:
    """What keeps them from being run, "" for nothing. Raises RequestError for pairs that are no plain data."""
    if isinstance(tests, PairTests):
        checks_text(checks_of(tests, ""))
    for text in _texts(tests):
        cause = syntax_cause(text, "the tests")
        if cause is not None:
            return cause.message
    if not _test_something(tests):
        return "there is nothing in its tests that a sample could fail"
    without_check = isinstance(tests, CheckTests) and "check" not in tests.source
    return "its tests define no check(candidate)" if without_check else ""


def _texts(tests: Tests) -> tuple[str, ...]:
    if isinstance(tests, CheckTests | UnittestTests | PytestTests):
        return (tests.source,)
    return (tests.setup, *tests.asserts) if isinstance(tests, AssertTests) else ()


def _test_something(tests: Tests) -> bool:
    if isinstance(tests, UnittestTests | PytestTests):
        return bool(declared_tests(tests.source))
    if isinstance(tests, AssertTests) and not tests.asserts:
        return False
    if isinstance(tests, CheckTests | AssertTests | PairTests):
        return can_fail(checks_of(tests, ""))
    return bool(tests.pairs if isinstance(tests, StdinTests) else tests.source)
