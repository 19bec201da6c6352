"""Judged by a counted suite: the tests as pytest runs them, where they need more of the candidate than plain data."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.judging.by_values import context_of
from flyteplugins_codegen.evaluation.judging.trials import Candidate, Settled, Trial, Verdict, too_long, verdict_of
from flyteplugins_codegen.evaluation.values import (
    AssertTests,
    CheckTests,
    JudgedBy,
    Problem,
    PytestTests,
    Tests,
    UnittestTests,
)
from flyteplugins_codegen.models.report import SuiteReport
from flyteplugins_codegen.parsing import parse_python
from flyteplugins_codegen.sandbox.contract import Execution, Job
from flyteplugins_codegen.sandbox.suites.suite import SuiteJob, flaw_before_running, judged, sandboxed
from flyteplugins_codegen.sandbox.values.run import new_nonce
from flyteplugins_codegen.source.declared_tests import declared_tests

KINDS: Final = (CheckTests, AssertTests, UnittestTests, PytestTests)
_ALL_NAMES: Final = "from solution import *"


def begin(candidate: Candidate) -> Verdict | None:
    """The verdict where there is nothing to run; None where there is."""
    verdict = too_long(candidate)
    flaw = None if verdict else flaw_before_running(_suite_job(candidate))
    return verdict_of(candidate, flaw, cpu_s=0, wall_s=0) if flaw else verdict


def trials(candidates: Sequence[Candidate]) -> Iterable[Trial]:
    """A trial for each."""
    return [SuiteTrial(candidate, new_nonce()) for candidate in candidates]


@dataclass(frozen=True, slots=True)
class SuiteTrial:
    """One candidate and its suite."""

    candidate: Candidate
    nonce: str
    judged_by: JudgedBy = "suite"

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The one."""
        return (self.candidate,)

    @property
    def job(self) -> Job:
        """The run of the suite."""
        return sandboxed(_suite_job(self.candidate), self.nonce)

    def settle(self, execution: Execution) -> Settled:
        """The verdict."""
        report = judged(_suite_job(self.candidate), self.nonce, execution)
        return Settled(verdicts=((self.candidate, _verdict(self.candidate, report, execution)),))

    def again(self, candidates: Iterable[Candidate]) -> Iterable[Trial]:
        """The same anew."""
        return trials(tuple(candidates))


def _verdict(candidate: Candidate, report: SuiteReport, execution: Execution) -> Verdict:
    failed = next((test.name for test in report.tests if test.outcome not in ("passed", "skipped")), "")
    return verdict_of(candidate, report.cause, case=failed, cpu_s=execution.cpu_s, wall_s=execution.wall_s)


def _suite_job(candidate: Candidate) -> SuiteJob:
    tests = suite_source(candidate.problem)
    return SuiteJob(
        solution=candidate.program, tests=tests, expected=_expected(tests), origin="user", limits=candidate.limits
    )


@lru_cache(maxsize=64)
def _expected(tests: str) -> tuple[str, ...]:
    return declared_tests(tests)


def suite_source(problem: Problem) -> str:
    """The tests as a pytest module that finds the candidate's names as its own. Raises RequestError for other kinds."""
    return _render(problem.tests, problem.entry_point, _context(problem))


def _context(problem: Problem) -> str:
    return context_of(problem) if isinstance(problem.tests, CheckTests | AssertTests) else ""


def _render(tests: Tests, entry_point: str, context: str) -> str:
    if isinstance(tests, PytestTests):
        return tests.source
    if isinstance(tests, UnittestTests):
        return f"{_ALL_NAMES}\n{tests.source}\n"
    if isinstance(tests, CheckTests):
        case = f"def test_check():\n    import solution\n    check(solution.{entry_point})\n"
        return f"{context}\n{_ALL_NAMES}\n{tests.source}\n\n{case}"
    if isinstance(tests, AssertTests):
        cases = [_case(number, text) for number, text in enumerate(tests.asserts, 1)]
        return "\n".join([context, _ALL_NAMES, tests.setup, *cases])
    raise RequestError(f"{type(tests).__name__} are not judged by a suite; choose judge='auto'")


def _case(number: int, text: str) -> str:
    """Statements as a test, written anew from their syntax: a string in them may go over several lines."""
    module = parse_python(f"def test_{number}(): ...")
    vars(module.body[0])["body"] = parse_python(text).body
    return ast.unparse(module)
