"""Which attempt came from which: rounds, lineages, and the attempt that a run goes on from."""

from __future__ import annotations

from collections.abc import Sequence

from flyteplugins_codegen.models.run import SAMPLES_CASE, Attempt, Run, ScriptRun, SuiteReport, TestReport
from flyteplugins_codegen.stages.candidates.choose import choose

# What a report comes to, in words for a person and as an exit status.


def describe_outcome(report: TestReport | None) -> str:
    """A line for each thing that ran, with the cause below where it failed."""
    if report is None:
        return "nothing ran"
    if report.build_cause is not None:
        return f"environment: {report.build_cause.message}"
    lines = [_run_line(run) for run in report.runs] + [_suite_line(suite) for suite in report.suites]
    return "\n".join(lines)


def count_tests(report: TestReport | None) -> tuple[int, int]:
    """Passed and expected tests over all suites."""
    suites = report.suites if report else ()
    passed = sum(test.outcome == "passed" for suite in suites for test in suite.tests)
    return passed, sum(len(suite.expected) for suite in suites)


def best_attempt(attempts: Sequence[Attempt]) -> Attempt | None:
    """The attempt that came farthest, the newest of several: by runs and tests of the user's first, then the others."""
    return max(
        attempts, key=lambda attempt: (*_standing(attempt.report), not attempt.unusable, attempt.number), default=None
    )


def _standing(report: TestReport | None) -> tuple[bool, bool, int, int]:
    """Whether it passed, whether it was built, what passed of what the user gave, and of the generated tests."""
    if report is None:
        return False, False, 0, 0
    passed = {"user": sum(run.cause is None for run in report.runs), "generated": 0}
    for suite in report.suites:
        passed[suite.origin] += sum(test.outcome == "passed" for test in suite.tests)
    return report.passed, report.build_cause is None, passed["user"], passed["generated"]


def exit_code_of(report: TestReport | None) -> int:
    """0 for a report that passed; else the status of what failed first, 1 where it has none."""
    if report is not None and report.passed:
        return 0
    ended = [run.exit_code for run in report.runs if run.cause] if report else []
    ended += [suite.exit_code for suite in report.suites if suite.cause] if report else []
    return next((code for code in ended if code), 1)


def _run_line(run: ScriptRun) -> str:
    where = "script on the samples" if run.case == SAMPLES_CASE else f"script on {run.case}"
    if run.cause is None:
        return f"{where}: passed in {run.wall_s:.2f} s"
    return f"{where}: {run.cause.kind.replace('_', ' ')}: {run.cause.message}"


def _suite_line(suite: SuiteReport) -> str:
    passed = sum(test.outcome == "passed" for test in suite.tests)
    told = f"{suite.origin} tests: {passed} of {len(suite.expected)} passed in {suite.wall_s:.2f} s"
    if suite.cause is None:
        return told
    failed = [f"  {test.name}: {test.outcome}: {test.message}" for test in suite.tests if test.outcome != "passed"]
    return "\n".join([f"{told}; {suite.cause.kind.replace('_', ' ')}: {suite.cause.message}", *failed])


def pending_attempts(run: Run) -> tuple[Attempt, ...]:
    """The attempts that have not been judged yet."""
    return tuple(attempt for attempt in run.attempts if attempt.report is None)


def pending_attempt(run: Run) -> Attempt | None:
    """The first attempt that has not been judged yet."""
    return next(iter(pending_attempts(run)), None)


def newest_round(run: Run) -> tuple[Attempt, ...]:
    """The attempts that were made last, all at once."""
    return tuple(attempt for attempt in run.attempts if attempt.round_number == run.attempts[-1].round_number)


def base_attempt(run: Run) -> Attempt:
    """The attempt that the run goes on from: the one that is chosen of the newest round, else what came farthest in it.

    Raises IndexError for a run without attempts.
    """
    attempts = newest_round(run)
    chosen = choose(attempts).attempt
    return next((each for each in attempts if each.number == chosen), best_attempt(attempts) or attempts[-1])


def lineage_of(run: Run, attempt: Attempt) -> tuple[Attempt, ...]:
    """The attempt and those that it came from, the independent draft at their beginning first."""
    chain = [attempt]
    while chain[0].parent is not None:
        chain.insert(0, run.attempts[chain[0].parent - 1])
    return tuple(chain)


def repairs_of(lineage: tuple[Attempt, ...]) -> int:
    """How many rounds of repair a lineage has behind it, those in vain too; what costs no call is none."""
    return sum(attempt.action == "repair" for attempt in lineage)
