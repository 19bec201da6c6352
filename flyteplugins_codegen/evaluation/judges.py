"""Judged by values: the tests in a process that the candidate cannot reach, and only plain data between the two."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Final, Literal

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.program_judges import (
    OUTPUT_TESTS,
    PROGRAM_TESTS,
    begin_output,
    begin_program,
    output_trials,
    program_trials,
)
from flyteplugins_codegen.evaluation.programs.languages import LANGUAGES_OF_PROGRAMS
from flyteplugins_codegen.evaluation.trials import Candidate, Settled, Trial, Verdict, too_long, verdict_of
from flyteplugins_codegen.evaluation.values import (
    AssertTests,
    CheckTests,
    JudgedBy,
    PairTests,
    Problem,
    PytestTests,
    StdinTests,
    Tests,
    UnittestTests,
)
from flyteplugins_codegen.judging.causes import syntax_cause
from flyteplugins_codegen.judging.suites.run import (
    SuiteJob,
    suite_flaw_before_running,
    suite_report,
    suite_sandbox_job,
)
from flyteplugins_codegen.judging.values.run import ValuesBatch, ValuesJob, new_nonce, values_flaw_before_running
from flyteplugins_codegen.judging.values.tests import can_fail, render_tests
from flyteplugins_codegen.models.run import SuiteReport, ValuesReport
from flyteplugins_codegen.sandbox.contract import Execution, Job
from flyteplugins_codegen.source.python import parse_python
from flyteplugins_codegen.source.tests import declared_tests

VALUES_TESTS: Final = (CheckTests, AssertTests, PairTests)


def begin_values(candidate: Candidate) -> Verdict | None:
    """The verdict where there is nothing to run; None where there is."""
    verdict = too_long(candidate)
    flaw = None if verdict else values_flaw_before_running(values_job(candidate))
    return verdict_of(candidate, flaw, cpu_s=0, wall_s=0) if flaw else verdict


def values_trials(candidates: Sequence[Candidate]) -> Iterable[Trial]:
    """One trial for all of them, in one sandbox."""
    return [ValuesTrial(tuple(candidates), ValuesBatch(tuple(map(values_job, candidates))))]


@dataclass(frozen=True, slots=True)
class ValuesTrial:
    """Candidates that are judged one after the other in one sandbox, each by a judge of its own."""

    candidates: tuple[Candidate, ...]
    batch: ValuesBatch
    judged_by: JudgedBy = "values"

    @property
    def job(self) -> Job:
        """All of them as one job."""
        return self.batch.sandbox_job()

    def settle(self, execution: Execution) -> Settled:
        """The verdicts on those that were judged; what came after one that broke off is to be judged anew."""
        reports = self.batch.reports(execution)
        pairs = list(zip(self.candidates, reports, strict=True))
        left = [candidate for candidate, report in pairs if report is None]
        # The first of them broke off: by itself there is no doubt who did it.
        parts = (left[:1], left[1:])
        return Settled(
            verdicts=tuple((candidate, _values_verdict(candidate, report)) for candidate, report in pairs if report),
            left=tuple(trial for part in parts if part for trial in values_trials(part)),
        )

    def again(self, candidates: Iterable[Candidate]) -> Iterable[Trial]:
        """Each by itself."""
        return [trial for candidate in candidates for trial in values_trials([candidate])]


def _values_verdict(candidate: Candidate, report: ValuesReport) -> Verdict:
    failed = [case.name for case in report.cases if case.outcome == "failed"] if len(report.cases) > 1 else []
    case = failed[0] if failed else ""
    return verdict_of(candidate, report.cause, case=case, cpu_s=report.cpu_s, wall_s=report.wall_s)


def values_job(candidate: Candidate) -> ValuesJob:
    """The job that judges a candidate by its problem's tests. Raises TypeError for tests of another kind."""
    problem = candidate.problem
    if not isinstance(problem.tests, VALUES_TESTS):
        raise TypeError(f"{type(problem.tests).__name__} are not judged by values")
    return ValuesJob(
        solution=candidate.program,
        entry_point=problem.entry_point,
        tests=problem.tests,
        context=context_of(problem),
        limits=candidate.limits,
    )


def context_of(problem: Problem) -> str:
    """Trusted source that the tests may use: the problem's own, else its prompt where that is Python."""
    if problem.context is not None:
        return problem.context
    return _if_python(problem.prompt)


@lru_cache(maxsize=64)  # the samples of a problem come in a row
def _if_python(prompt: str) -> str:
    return "" if syntax_cause(prompt, "prompt") else prompt


# Judged by a counted suite: the tests as pytest runs them, where they need more of the candidate than plain data.

SUITE_TESTS: Final = (CheckTests, AssertTests, UnittestTests, PytestTests)
_ALL_NAMES: Final = "from solution import *"


def begin_suite(candidate: Candidate) -> Verdict | None:
    """The verdict where there is nothing to run; None where there is."""
    verdict = too_long(candidate)
    flaw = None if verdict else suite_flaw_before_running(_suite_job(candidate))
    return verdict_of(candidate, flaw, cpu_s=0, wall_s=0) if flaw else verdict


def suite_trials(candidates: Sequence[Candidate]) -> Iterable[Trial]:
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
        return suite_sandbox_job(_suite_job(self.candidate), self.nonce)

    def settle(self, execution: Execution) -> Settled:
        """The verdict."""
        report = suite_report(_suite_job(self.candidate), self.nonce, execution)
        return Settled(verdicts=((self.candidate, _suite_verdict(self.candidate, report, execution)),))

    def again(self, candidates: Iterable[Candidate]) -> Iterable[Trial]:
        """The same anew."""
        return suite_trials(tuple(candidates))


def _suite_verdict(candidate: Candidate, report: SuiteReport, execution: Execution) -> Verdict:
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


# Which way of judging there is for a problem's tests.

Judge = Literal["auto", "values", "suite"]


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to judge: the kinds of tests it takes, the verdict without a run, and the trials to run."""

    kinds: tuple[type[Tests], ...]
    begin: Callable[[Candidate], Verdict | None]
    trials: Callable[[Sequence[Candidate]], Iterable[Trial]]


# The first that takes a kind of tests is the one that is hardest to fool.
_WAYS: Final[dict[JudgedBy, _Way]] = {
    "values": _Way(VALUES_TESTS, begin_values, values_trials),
    "suite": _Way(SUITE_TESTS, begin_suite, suite_trials),
    "output": _Way(OUTPUT_TESTS, begin_output, output_trials),
}
_PROGRAM: Final = _Way(PROGRAM_TESTS, begin_program, program_trials)  # in other languages than Python


def ways_of(problem: Problem, judge: Judge) -> tuple[JudgedBy, ...]:
    """How its tests may be judged, the safest first. Raises RequestError where they cannot be judged so."""
    if problem.language != "python":
        _check_program(problem)
        return ("output",)
    found = tuple(name for name, way in _WAYS.items() if isinstance(problem.tests, way.kinds))
    if found and (judge == "auto" or found == ("output",)):
        return found
    if judge not in found:
        kind = type(problem.tests).__name__
        remedy = "use 'auto'" if found else "they are for other languages than Python"
        raise RequestError(f"problem {problem.task_id!r} has {kind}, which judge={judge!r} does not take; {remedy}")
    return (judge,)


def _check_program(problem: Problem) -> None:
    language = problem.language
    if language not in LANGUAGES_OF_PROGRAMS:
        judged = ", ".join(("python", *LANGUAGES_OF_PROGRAMS))
        raise RequestError(
            f"problem {problem.task_id!r} is of {language}, which is not judged here; these are: {judged}"
        )
    if not isinstance(problem.tests, _PROGRAM.kinds):
        kind = type(problem.tests).__name__
        raise RequestError(
            f"problem {problem.task_id!r} is of {language} and has {kind}; give StdinTests or ProgramTests"
        )


def begin(candidate: Candidate) -> Verdict | None:
    """The verdict where there is nothing to run; None where there is."""
    return _way(candidate).begin(candidate)


def _way(candidate: Candidate) -> _Way:
    return _WAYS[candidate.judged_by] if candidate.problem.language == "python" else _PROGRAM


def trials(candidates: Sequence[Candidate]) -> Iterable[Trial]:
    """Trials for candidates that are judged by the same kind of evidence, in whatever language they are."""
    return [trial for way, group in groupby(candidates, _way) for trial in way.trials(tuple(group))]


# Whether a problem's tests can be run at all: where they cannot, that is told before anything runs.

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
        render_tests(tests)
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
        return can_fail(tests)
    return bool(tests.pairs if isinstance(tests, StdinTests) else tests.source)
