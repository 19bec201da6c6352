"""Holds what the judged process told of its tests against what their own code confirmed to the supervisor.

Each test function says itself, by a secret that stands nowhere else, that it came to its end, and that an assertion of
its own failed (`suite_runner.rewriting`). A test that is told to have passed, and did not say the one or said the
other, did not pass.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from flyteplugins_codegen.models.report import TestOutcome
from flyteplugins_codegen.sandbox.suite_evidence import Evidence
from flyteplugins_codegen.sandbox.suite_source import SuiteSource

_UNCONFIRMED: Final = "it is reported as passed, but its body never came to its end"
_SWALLOWED: Final = (
    "an assertion of the test failed, but something took the exception that the test's own text does not show "
    "(a context manager of the solution's, or a caller of a function of the test's)"
)


def settle(evidence: Evidence, source: SuiteSource) -> Evidence:
    """The evidence with the outcomes set right that were told wrongly, and the tests named that did not confirm."""
    unconfirmed = tuple(test.name for test in evidence.tests if _is_unconfirmed(test, evidence, source))
    tests = tuple(_settled(test, evidence, frozenset(unconfirmed)) for test in evidence.tests)
    return replace(evidence, tests=tests, unconfirmed=unconfirmed)


def _is_unconfirmed(test: TestOutcome, evidence: Evidence, source: SuiteSource) -> bool:
    """Whether it is told to have passed though none of the functions that it may be the run of came to its end."""
    functions = source.functions_of(test.name) if test.outcome == "passed" else frozenset[str]()
    return bool(functions) and functions.isdisjoint(evidence.ended_functions.get(test.name, ()))


def _settled(test: TestOutcome, evidence: Evidence, unconfirmed: frozenset[str]) -> TestOutcome:
    if test.name in unconfirmed:
        return test.model_copy(update={"outcome": "error", "message": _UNCONFIRMED})
    if test.outcome == "passed" and evidence.failed_assertions.get(test.name):
        return test.model_copy(update={"outcome": "failed", "message": _SWALLOWED})
    return test
