"""Where a repair is told to look: a failure that comes back after one side was changed is looked for on the other."""

from __future__ import annotations

from typing import Final, NamedTuple

from flyteplugins_codegen.models.report import SAMPLES_CASE, TestReport
from flyteplugins_codegen.models.run import Attempt, Blame, Run
from flyteplugins_codegen.stages.lineage import lineage_of
from flyteplugins_codegen.stages.signatures import signature_of

_FLAWS_OF_TESTS: Final = ("broken_tests", "nothing_ran")


class Suspicion(NamedTuple):
    """What is to blame and why; None where that is for the model to find."""

    blame: Blame | None = None
    reason: str = ""


def suspect(run: Run, attempt: Attempt) -> Suspicion:
    """Where the next repair of a failed attempt is to look.

    The user's examples and tests, and the run on the samples, are right by definition: where one of them failed, the
    generated tests are never to blame.
    """
    failed = failed_beyond_blame(attempt.report)
    if failed:
        return Suspicion("solution", f"{failed} failed, which is right by definition")
    flawed = flaw_of_tests(attempt.report)
    if flawed:
        return Suspicion("tests", f"whatever solution.py does, they fail: {flawed}")
    repaired = _repair_in_vain(lineage_of(run, attempt))
    if repaired is None or (attempt.report is not None and attempt.report.build_cause is not None):
        return Suspicion()
    other: Blame = "solution" if repaired.blame == "tests" else "tests"
    return Suspicion(other, f"the same failure came back after attempt {repaired.number} changed the {repaired.blame}")


def failed_beyond_blame(report: TestReport | None) -> str:
    """The first that failed of what is right by definition; "" where none did."""
    if report is None:
        return ""
    failed = [run.case for run in report.runs if run.cause is not None]
    users = ["the user's tests" for suite in report.suites if suite.origin == "user" and suite.cause is not None]
    examples = [f"the user's {case}" for case in failed if case != SAMPLES_CASE]
    samples = ["the script on the samples" for case in failed if case == SAMPLES_CASE]
    return next(iter([*examples, *users, *samples]), "")


def flaw_of_tests(report: TestReport | None) -> str:
    """Why the generated tests fail for every solution: no Python, no test, nothing asserted; "" where they do not."""
    causes = (suite.cause for suite in report.suites if suite.origin == "generated") if report else ()
    found = (cause.told for cause in causes if cause and cause.is_certain and cause.kind in _FLAWS_OF_TESTS)
    return next(found, "")


def _repair_in_vain(lineage: tuple[Attempt, ...]) -> Attempt | None:
    """The last repair of a lineage, where what fails now had failed before it in the same words."""
    now = signature_of(lineage[-1].report)
    for position in range(len(lineage) - 1, 0, -1):
        if lineage[position].action == "repair" and not lineage[position].unusable:
            before = (signature_of(attempt.report) for attempt in lineage[:position])
            return lineage[position] if now in before else None
    return None
