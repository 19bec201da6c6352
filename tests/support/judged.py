"""Judged attempts by hand: what each left and which tests it passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution
from flyteplugins_codegen.models.run import Attempt, Cause, ScriptRun, SuiteReport, TestOutcome, TestReport

TESTS = """\
def test_a():
    assert f(1) == 1


def test_b():
    assert f(2) == 4


def test_c():
    assert f(3) == 9
"""
NAMES = ("test_a", "test_b", "test_c")
LOCK = EnvironmentLock(python="3.11", platform="linux", digest="0" * 64)
FAILED = Cause(kind="test_failed", subject="test_a", message="assert 2 == 1")
CRASHED = Cause(kind="exception", message="ValueError: no")


def ran(case: str = "samples", cause: Cause | None = None, **outputs: Any) -> ScriptRun:
    """A run of the script with these outputs."""
    return ScriptRun(case=case, status="exited", exit_code=1 if cause else 0, outputs=outputs, cause=cause)


def suite(passed: Sequence[str], expected: Sequence[str] = NAMES, origin: Any = "generated") -> SuiteReport:
    """A suite in which these tests passed and the others failed."""
    outcomes = tuple(
        TestOutcome(name=name, outcome="passed" if name in passed else "failed", message="" if name in passed else "no")
        for name in expected
    )
    cause = None if set(passed) == set(expected) else FAILED
    return SuiteReport(origin=origin, expected=tuple(expected), tests=outcomes, cause=cause)


def attempt(number: int, report: TestReport | None, code: str = "", **fields: Any) -> Attempt:
    """An attempt with a candidate of its own."""
    solution = CodeSolution(code=code or f"print({number})")
    given: Mapping[str, Any] = {
        "action": "first_draft" if number == 1 else "fresh_draft",
        "environment": LOCK,
        **fields,
    }
    candidate = Candidate(plan=CodePlan(description="d", approach="a"), solution=solution, tests=TESTS)
    cause = report.causes[0] if report and report.causes else None
    return Attempt(number=number, reason="r", candidate=candidate, report=report, cause=cause, **given)


def judged(number: int, total: Any, passed: Sequence[str] = NAMES, **fields: Any) -> Attempt:
    """An attempt that left a total on the samples and passed these generated tests."""
    return attempt(number, TestReport(runs=(ran(total=total),), suites=(suite(passed),)), **fields)


def crashed(number: int, **fields: Any) -> Attempt:
    """An attempt whose script failed on the samples."""
    return attempt(number, TestReport(runs=(ran(cause=CRASHED),), suites=(suite(()),)), **fields)
