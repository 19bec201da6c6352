"""The methods of judging Python: by values, by a counted suite, or by output; and the choice between them.

By values, the tests run in a process that the candidate cannot reach, and only plain data passes between the two. By a
suite, pytest runs tests that need more of the candidate than plain data. `program_judges` has the other methods.
"""

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
    output_flaw,
    output_trials,
    program_trials,
)
from flyteplugins_codegen.evaluation.programs.languages import LANGUAGES_OF_PROGRAMS
from flyteplugins_codegen.evaluation.trials import CandidateProgram, Settled, Trial, Verdict, too_long, verdict_of
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
from flyteplugins_codegen.models.run import Cause, SuiteReport, ValuesReport
from flyteplugins_codegen.sandbox.contract import Execution, Job
from flyteplugins_codegen.source.python import parse_python
from flyteplugins_codegen.source.tests import declared_tests

Judge = Literal["auto", "values", "suite"]
"""The method that a user asks for; `auto` takes the first that the canonical solution passes."""

VALUES_TESTS: Final = (CheckTests, AssertTests, PairTests)
SUITE_TESTS: Final = (CheckTests, AssertTests, UnittestTests, PytestTests)
_KEPT: Final = 64  # problems whose checks are cached: samples of one problem mostly follow each other
_ALL_NAMES: Final = "from solution import *"
_REMEDY: Final = "mend its tests, or leave it out"

# --- by values ---


def values_trials(candidates: Sequence[CandidateProgram]) -> Iterable[Trial]:
    """One trial for all the candidates, in one sandbox."""
    return [ValuesTrial(tuple(candidates), ValuesBatch(tuple(map(values_job, candidates))))]


@dataclass(frozen=True, slots=True)
class ValuesTrial:
    """Candidates that are judged one after the other in one sandbox, each by its own judge process."""

    candidates: tuple[CandidateProgram, ...]
    batch: ValuesBatch
    judged_by: JudgedBy = "values"

    @property
    def job(self) -> Job:
        """The job that judges all the candidates."""
        return self.batch.sandbox_job()

    def settle(self, execution: Execution) -> Settled:
        """The verdicts on the candidates that were judged; after one that ended the job, the others remain."""
        reports = self.batch.reports(execution)
        pairs = list(zip(self.candidates, reports, strict=True))
        remaining = [candidate for candidate, report in pairs if report is None]
        # The first of them may have ended the job. It is run alone, so that this is certain.
        parts = (remaining[:1], remaining[1:])
        return Settled(
            verdicts=tuple((candidate, _values_verdict(candidate, report)) for candidate, report in pairs if report),
            remaining=tuple(trial for part in parts if part for trial in values_trials(part)),
        )

    def again(self, candidates: Iterable[CandidateProgram]) -> Iterable[Trial]:
        """A trial for each."""
        return [trial for candidate in candidates for trial in values_trials([candidate])]


def _values_verdict(candidate: CandidateProgram, report: ValuesReport) -> Verdict:
    failed = [case.name for case in report.cases if case.outcome == "failed"] if len(report.cases) > 1 else []
    case = failed[0] if failed else ""
    return verdict_of(candidate, report.cause, case=case, cpu_s=report.cpu_s, wall_s=report.wall_s)


def values_job(candidate: CandidateProgram) -> ValuesJob:
    """The candidate and its problem's checks as a job of `judging.values`."""
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


# --- by a counted suite ---


def suite_trials(candidates: Sequence[CandidateProgram]) -> Iterable[Trial]:
    """A trial for each."""
    return [SuiteTrial(candidate, new_nonce()) for candidate in candidates]


@dataclass(frozen=True, slots=True)
class SuiteTrial:
    """One candidate with its suite; the nonce authenticates the suite's report."""

    candidate: CandidateProgram
    nonce: str
    judged_by: JudgedBy = "suite"

    @property
    def candidates(self) -> tuple[CandidateProgram, ...]:
        """The candidate alone."""
        return (self.candidate,)

    @property
    def job(self) -> Job:
        """The job that runs the suite."""
        return suite_sandbox_job(_suite_job(self.candidate), self.nonce)

    def settle(self, execution: Execution) -> Settled:
        """The verdict that the suite's report gives."""
        report = suite_report(_suite_job(self.candidate), self.nonce, execution)
        return Settled(verdicts=((self.candidate, _suite_verdict(self.candidate, report, execution)),))

    def again(self, candidates: Iterable[CandidateProgram]) -> Iterable[Trial]:
        """A trial for each, with another nonce."""
        return suite_trials(tuple(candidates))


def _suite_verdict(candidate: CandidateProgram, report: SuiteReport, execution: Execution) -> Verdict:
    failed = next((test.name for test in report.tests if test.outcome not in ("passed", "skipped")), "")
    return verdict_of(candidate, report.cause, case=failed, cpu_s=execution.cpu_s, wall_s=execution.wall_s)


def _suite_job(candidate: CandidateProgram) -> SuiteJob:
    tests = suite_source(candidate.problem)
    expected = _declared_tests(tests)
    return SuiteJob(solution=candidate.program, tests=tests, expected=expected, origin="user", limits=candidate.limits)


_declared_tests: Final = lru_cache(maxsize=_KEPT)(declared_tests)


def suite_source(problem: Problem) -> str:
    """The problem's tests as a pytest module that imports the candidate's names.

    Raises RequestError for tests that no suite judges.
    """
    tests = problem.tests
    if isinstance(tests, PytestTests):
        return tests.source
    if isinstance(tests, UnittestTests):
        return f"{_ALL_NAMES}\n{tests.source}\n"
    if isinstance(tests, CheckTests):
        case = f"def test_check():\n    import solution\n    check(solution.{problem.entry_point})\n"
        return f"{context_of(problem)}\n{_ALL_NAMES}\n{tests.source}\n\n{case}"
    if isinstance(tests, AssertTests):
        cases = [_case(number, text) for number, text in enumerate(tests.asserts, 1)]
        return "\n".join([context_of(problem), _ALL_NAMES, tests.setup, *cases])
    raise RequestError(f"{type(tests).__name__} are not judged by a suite; choose judge='auto'")


def _case(number: int, text: str) -> str:
    """Statements as a test. They are unparsed, not indented: a string in them may span lines."""
    module = parse_python(f"def test_{number}(): ...")
    vars(module.body[0])["body"] = parse_python(text).body
    return ast.unparse(module)


# --- the choice of a method ---


@dataclass(frozen=True, slots=True)
class _Method:
    """A method of judging: the types of tests it takes, the trials to run, and the flaw that makes a run needless."""

    tests: tuple[type[Tests], ...]
    trials: Callable[[Sequence[CandidateProgram]], Iterable[Trial]]
    flaw: Callable[[CandidateProgram], Cause | None]


# The methods that take the same type of tests are ordered: the one that is hardest to fool comes first.
_METHODS: Final[dict[JudgedBy, _Method]] = {
    "values": _Method(VALUES_TESTS, values_trials, lambda candidate: values_flaw_before_running(values_job(candidate))),
    "suite": _Method(SUITE_TESTS, suite_trials, lambda candidate: suite_flaw_before_running(_suite_job(candidate))),
    "output": _Method(OUTPUT_TESTS, output_trials, output_flaw),
}
# For languages other than Python; the build finds their flaws.
_PROGRAM_METHOD: Final = _Method(PROGRAM_TESTS, program_trials, lambda _: None)


def methods_for(problem: Problem, judge: Judge) -> tuple[JudgedBy, ...]:
    """The methods that can judge the problem, the safest first. Raises RequestError if none is what `judge` says."""
    if problem.language != "python":
        _check_program(problem)
        return ("output",)
    methods = tuple(name for name, method in _METHODS.items() if isinstance(problem.tests, method.tests))
    if methods and (judge == "auto" or methods == ("output",)):
        return methods
    if judge not in methods:
        kind = type(problem.tests).__name__
        remedy = "use 'auto'" if methods else "they are for other languages than Python"
        raise RequestError(f"problem {problem.task_id!r} has {kind}, which judge={judge!r} does not take; {remedy}")
    return (judge,)


def _check_program(problem: Problem) -> None:
    language = problem.language
    if language not in LANGUAGES_OF_PROGRAMS:
        known = ", ".join(("python", *LANGUAGES_OF_PROGRAMS))
        raise RequestError(
            f"problem {problem.task_id!r} is of {language}, which is not judged here; these are: {known}"
        )
    if not isinstance(problem.tests, _PROGRAM_METHOD.tests):
        kind = type(problem.tests).__name__
        raise RequestError(
            f"problem {problem.task_id!r} is of {language} and has {kind}; give StdinTests or ProgramTests"
        )


def begin(candidate: CandidateProgram) -> Verdict | None:
    """The verdict on a candidate that need not be run, None for others."""
    verdict = too_long(candidate)
    flaw = None if verdict else _method(candidate).flaw(candidate)
    return verdict_of(candidate, flaw, cpu_s=0, wall_s=0) if flaw else verdict


def trials(candidates: Sequence[CandidateProgram]) -> Iterable[Trial]:
    """Trials for candidates that have the same `judged_by`; their languages may differ."""
    return [trial for method, group in groupby(candidates, _method) for trial in method.trials(tuple(group))]


def _method(candidate: CandidateProgram) -> _Method:
    return _METHODS[candidate.judged_by] if candidate.problem.language == "python" else _PROGRAM_METHOD


# --- checks of a problem before the run ---


def check_entry_point(problem: Problem) -> None:
    """Raise RequestError if the tests call an entry point, and the problem names none."""
    if isinstance(problem.tests, CheckTests | AssertTests | PairTests):
        cause = syntax_cause(f"({problem.entry_point})", "entry_point")
        if cause is not None or not problem.entry_point.strip():
            message = f"its entry_point is {problem.entry_point!r}; name the function that its tests call"
            raise RequestError(f"problem {problem.task_id!r}: {message}")


def check_tests(problem: Problem) -> None:
    """Raise RequestError, with the problem's id, for tests that are not Python, test nothing, or are not plain data."""
    try:
        flaw = _flaw(problem.tests)
    except RequestError as error:
        flaw = str(error)
    if flaw:
        raise RequestError(f"problem {problem.task_id!r}: {flaw}; {_REMEDY}")


def _flaw(tests: Tests) -> str:
    """The reason why the tests cannot be run, "" if they can. Raises RequestError for pairs that are not plain data."""
    if isinstance(tests, PairTests):
        render_tests(tests)
    for text in _sources(tests):
        cause = syntax_cause(text, "the tests")
        if cause is not None:
            return cause.message
    if not _can_fail(tests):
        return "there is nothing in its tests that a sample could fail"
    without_check = isinstance(tests, CheckTests) and "check" not in tests.source
    return "its tests define no check(candidate)" if without_check else ""


def _sources(tests: Tests) -> tuple[str, ...]:
    if isinstance(tests, CheckTests | UnittestTests | PytestTests):
        return (tests.source,)
    return (tests.setup, *tests.asserts) if isinstance(tests, AssertTests) else ()


def _can_fail(tests: Tests) -> bool:
    if isinstance(tests, UnittestTests | PytestTests):
        return bool(declared_tests(tests.source))
    if isinstance(tests, AssertTests) and not tests.asserts:
        return False
    if isinstance(tests, CheckTests | AssertTests | PairTests):
        return can_fail(tests)
    return bool(tests.pairs if isinstance(tests, StdinTests) else tests.source)
