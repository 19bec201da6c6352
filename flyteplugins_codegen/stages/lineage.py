"""Which attempt came from which, which one the run goes on from, and what their reports say in short."""

from __future__ import annotations

from collections.abc import Sequence

from flyteplugins_codegen.models.reference import ReferenceReport
from flyteplugins_codegen.models.run import SAMPLES_CASE, Attempt, Run, ScriptRun, SuiteReport, TestReport
from flyteplugins_codegen.stages.candidates.choose import choose


def pending_attempts(run: Run) -> tuple[Attempt, ...]:
    """The attempts that are not judged yet."""
    return tuple(attempt for attempt in run.attempts if attempt.report is None)


def pending_attempt(run: Run) -> Attempt | None:
    """The first attempt that is not judged yet."""
    return next(iter(pending_attempts(run)), None)


def newest_round(run: Run) -> tuple[Attempt, ...]:
    """The attempts that were made last, at the same time."""
    return tuple(attempt for attempt in run.attempts if attempt.round_number == run.attempts[-1].round_number)


def base_attempt(run: Run) -> Attempt:
    """The attempt that the run goes on from: the chosen one of the newest round, else the best one of it.

    Raises IndexError for a run without attempts.
    """
    attempts = newest_round(run)
    chosen = choose(attempts).attempt
    base = next((attempt for attempt in attempts if attempt.number == chosen), None)
    return base or best_attempt(attempts) or attempts[-1]


def best_attempt(attempts: Sequence[Attempt]) -> Attempt | None:
    """The attempt that passed most: first of the user's checks, then of the generated tests; the newest of equals."""
    return max(
        attempts, key=lambda attempt: (*_progress(attempt.report), not attempt.unusable, attempt.number), default=None
    )


def _progress(report: TestReport | None) -> tuple[bool, bool, int, int]:
    """Whether it passed, whether it was built, and the numbers of passed checks: of the user's, of the generated."""
    if report is None:
        return False, False, 0, 0
    passed = {"user": sum(run.cause is None for run in report.runs), "generated": 0}
    for suite in report.suites:
        passed[suite.origin] += sum(test.outcome == "passed" for test in suite.tests)
    return report.passed, report.build_cause is None, passed["user"], passed["generated"]


def lineage_of(run: Run, attempt: Attempt) -> tuple[Attempt, ...]:
    """The attempt and its ancestors, beginning with the independent draft."""
    chain = [attempt]
    while chain[0].parent is not None:
        chain.insert(0, run.attempts[chain[0].parent - 1])
    return tuple(chain)


def repairs_of(lineage: tuple[Attempt, ...]) -> int:
    """The number of repairs in a lineage, unusable replies included. Changes without a model call do not count."""
    return sum(attempt.action == "repair" for attempt in lineage)


def differs_from_reference(report: TestReport | None) -> bool:
    """Whether the reference differs and everything else has passed."""
    return report is not None and report.reference_cause is not None and report.causes == (report.reference_cause,)


# --- reports in short ---


def describe_outcome(report: TestReport | None) -> str:
    """A line for each run and each suite, with its cause if it failed."""
    if report is None:
        return "nothing ran"
    if report.build_cause is not None:
        return f"environment: {report.build_cause.message}"
    lines = [_run_line(run) for run in report.runs] + [_suite_line(suite) for suite in report.suites]
    return "\n".join([*lines, *_reference_lines(report.reference)])


def _run_line(run: ScriptRun) -> str:
    case = f"script on the samples{run.arguments_text}" if run.case == SAMPLES_CASE else f"script on {run.case}"
    if run.cause is None:
        return f"{case}: passed in {run.wall_s:.2f} s"
    return f"{case}: {run.cause.kind.replace('_', ' ')}: {run.cause.message}"


def _suite_line(suite: SuiteReport) -> str:
    passed = sum(test.outcome == "passed" for test in suite.tests)
    summary = f"{suite.origin} tests: {passed} of {len(suite.expected)} passed in {suite.wall_s:.2f} s"
    if suite.cause is None:
        return summary
    failed = [f"  {test.name}: {test.outcome}: {test.message}" for test in suite.tests if test.outcome != "passed"]
    return "\n".join([f"{summary}; {suite.cause.kind.replace('_', ' ')}: {suite.cause.message}", *failed])


def _reference_lines(reference: ReferenceReport | None) -> list[str]:
    """One line about the reference; none if there is none."""
    if reference is None:
        return []
    if reference.dropped:
        return [f"reference: not used: {reference.dropped}"]
    if reference.difference:
        return [f"reference: differs {reference.difference.summary}"]
    return [f"reference: the same outputs on {', '.join(reference.agreed) or 'nothing that could be compared'}"]


def count_tests(report: TestReport | None) -> tuple[int, int]:
    """The numbers of passed and of expected tests in all suites."""
    suites = report.suites if report else ()
    passed = sum(test.outcome == "passed" for suite in suites for test in suite.tests)
    return passed, sum(len(suite.expected) for suite in suites)


def exit_code_of(report: TestReport | None) -> int:
    """0 for a report that passed; else the exit code of the first failure, or 1 if that has none."""
    if report is not None and report.passed:
        return 0
    codes = [run.exit_code for run in report.runs if run.cause] if report else []
    codes += [suite.exit_code for suite in report.suites if suite.cause] if report else []
    return next((code for code in codes if code), 1)
