"""Judged by values: the tests in a process that the candidate cannot reach, and only plain data between the two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from flyteplugins_codegen.evaluation.judging.trials import Candidate, Settled, Trial, Verdict, too_long, verdict_of
from flyteplugins_codegen.evaluation.values import AssertTests, CheckTests, JudgedBy, PairTests, Problem, Tests
from flyteplugins_codegen.models.report import ValuesReport
from flyteplugins_codegen.sandbox.contract import Execution, Job
from flyteplugins_codegen.sandbox.python_errors import syntax_cause
from flyteplugins_codegen.sandbox.values.batch import Batch, judged_batch, sandboxed_batch
from flyteplugins_codegen.sandbox.values.run import (
    AssertList,
    CheckFunction,
    Checks,
    Pairs,
    ValuesJob,
    flaw_before_running,
)

KINDS: Final = (CheckTests, AssertTests, PairTests)
_KEPT: Final = 64  # problems whose checks are at hand, while their samples come in a row


def begin(candidate: Candidate) -> Verdict | None:
    """The verdict where there is nothing to run; None where there is."""
    verdict = too_long(candidate)
    flaw = None if verdict else flaw_before_running(values_job(candidate))
    return verdict_of(candidate, flaw, cpu_s=0, wall_s=0) if flaw else verdict


def trials(candidates: Sequence[Candidate]) -> Iterable[Trial]:
    """One trial for all of them, in one sandbox."""
    return [ValuesTrial(tuple(candidates), Batch(tuple(map(values_job, candidates))))]


@dataclass(frozen=True, slots=True)
class ValuesTrial:
    """Candidates that are judged one after the other in one sandbox, each by a judge of its own."""

    candidates: tuple[Candidate, ...]
    batch: Batch
    judged_by: JudgedBy = "values"

    @property
    def job(self) -> Job:
        """All of them as one job."""
        return sandboxed_batch(self.batch)

    def settle(self, execution: Execution) -> Settled:
        """The verdicts on those that were judged; what came after one that broke off is to be judged anew."""
        reports = judged_batch(self.batch, execution)
        pairs = list(zip(self.candidates, reports, strict=True))
        left = [candidate for candidate, report in pairs if report is None]
        # The first of them broke off: by itself there is no doubt who did it.
        parts = (left[:1], left[1:])
        return Settled(
            verdicts=tuple((candidate, _verdict(candidate, report)) for candidate, report in pairs if report),
            left=tuple(trial for part in parts if part for trial in trials(part)),
        )

    def again(self, candidates: Iterable[Candidate]) -> Iterable[Trial]:
        """Each by itself."""
        return [trial for candidate in candidates for trial in trials([candidate])]


def _verdict(candidate: Candidate, report: ValuesReport) -> Verdict:
    failed = [case.name for case in report.cases if case.outcome == "failed"] if len(report.cases) > 1 else []
    case = failed[0] if failed else ""
    return verdict_of(candidate, report.cause, case=case, cpu_s=report.cpu_s, wall_s=report.wall_s)


def values_job(candidate: Candidate) -> ValuesJob:
    """The candidate and its problem's checks, as the sandbox's room takes them."""
    problem = candidate.problem
    return ValuesJob(
        solution=candidate.program,
        entry_point=problem.entry_point,
        checks=_checks(_Identity(problem)),
        limits=candidate.limits,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Identity:
    """A problem by itself: what its tests hold may not be hashable."""

    problem: Problem

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.problem is other.problem

    def __hash__(self) -> int:
        return id(self.problem)


@lru_cache(maxsize=_KEPT)
def _checks(identity: _Identity) -> Checks:
    """One object for all samples of a problem: what it is written down as is kept by its identity."""
    return checks_of(identity.problem.tests, context_of(identity.problem))


def checks_of(tests: Tests, context: str) -> Checks:
    """The tests as the sandbox's room takes them."""
    if isinstance(tests, CheckTests):
        return CheckFunction(tests.source, context)
    if isinstance(tests, AssertTests):
        return AssertList(tests.asserts, tests.setup, context)
    if isinstance(tests, PairTests):
        return Pairs(tests.pairs, tests.tolerance, tests.tolerance, tests.from_json)
    raise TypeError(f"{type(tests).__name__} are not judged by values")


def context_of(problem: Problem) -> str:
    """Trusted source that the tests may use: the problem's own, else its prompt where that is Python."""
    if problem.context is not None:
        return problem.context
    return "" if syntax_cause(problem.prompt, "prompt") else problem.prompt
