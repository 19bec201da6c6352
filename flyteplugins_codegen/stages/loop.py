"""The one place where the loop is decided. The local driver and the Flyte workflow both ask `next_action`.

A decision is a function of the run and of the attempt that it goes on from: an action, or None to leave it to the next
one. `_AFTER_SUCCESS` and `_AFTER_FAILURE` hold them in order, and a new one is one more line there.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final, TypeAlias

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.run import Attempt, Blame, Cause, DroppedTest, Run, TestReport
from flyteplugins_codegen.models.spending import ModelCall
from flyteplugins_codegen.source.tests import find_test_functions, function_of
from flyteplugins_codegen.stages.candidates.choose import affordable_drafts, choose
from flyteplugins_codegen.stages.candidates.explain import disagreement_of
from flyteplugins_codegen.stages.diagnosis import (
    contradicting_tests,
    droppable,
    failed_tests,
    missing_packages,
    needed_system_packages,
    suspect,
)
from flyteplugins_codegen.stages.lineage import base_attempt, lineage_of, newest_round, pending_attempts, repairs_of

# What can be done next with a run: the answers of `stages.loop.next_action`, which every driver carries out.


class FirstDraft(Value):
    """Ask for `count` solutions, none seeing another, and, side by side, for tests."""

    count: int = 1


class Redraft(Value):
    """Ask for `count` solutions anew, none seeing another, with what was learnt from those that failed."""

    count: int
    reason: str


class BuildEnvironment(Value):
    """Resolve what the first candidate that is not judged yet needs."""


class RunTests(Value):
    """Run the first candidate that is not judged yet."""


class JudgeSideBySide(Value):
    """Build and run all candidates that are not judged yet."""


class AddPackages(Value):
    """Try the same code with more packages: the cause is certain, no model is asked."""

    packages: tuple[str, ...]
    reason: str


class AddSystemPackages(Value):
    """Name the Debian packages that the same code needs: the cause is certain, no model is asked."""

    packages: tuple[str, ...]
    reason: str


class DropTests(Value):
    """Judge the same code without generated tests that are certainly wrong, or that nothing could settle.

    `attempt` is the number of the one whose code that is; by default the one that the run goes on from.
    """

    tests: tuple[DroppedTest, ...]
    attempt: int | None = None


class MeasureStrength(Value):
    """Find out how many mutants of the candidate its tests tell from it."""


class StrengthenTests(Value):
    """Ask once for tests that fail for the mutants that survived, and judge the same code by these too."""

    survivors: tuple[str, ...]
    reason: str


class Repair(Value):
    """Ask the model once for the cause and the change; `blame` tells it where to look, `blame_reason` why there."""

    reason: str
    blame: Blame | None = None
    blame_reason: str = ""


class WorkAsAgent(Value):
    """Let the model work by tools until it submits a candidate, in place of drafts and repairs."""

    reason: str


class Finish(Value):
    """Stop here; `reason` says what decided."""

    success: bool
    reason: str


class Driven(Value):
    """A run that came to its end, how, and every call with its messages."""

    run: Run
    finish: Finish
    calls: tuple[ModelCall, ...]


Action: TypeAlias = (
    FirstDraft
    | Redraft
    | BuildEnvironment
    | RunTests
    | JudgeSideBySide
    | AddPackages
    | AddSystemPackages
    | DropTests
    | MeasureStrength
    | StrengthenTests
    | Repair
    | WorkAsAgent
    | Finish
)


# When the tests that a candidate passed are tested themselves, and when stronger ones are asked for.


def measure_first(run: Run, base: Attempt) -> MeasureStrength | None:
    """Tests that a model wrote are measured before they count; what the user gave is right by definition."""
    is_tested = base.candidate.tests is not None and not run.settings.skip_tests
    return MeasureStrength() if is_tested and base.strength is None else None


def strengthen(run: Run, base: Attempt) -> StrengthenTests | None:
    """Below `min_test_strength`, whatever else has judged the candidate: at most once in a run.

    Not where the budget or the iterations are spent: a candidate that passed is kept as it is. Nor for an agent, which
    writes its tests itself.
    """
    strength, settings = base.strength, run.settings
    if strength is None or strength.share is None or strength.share >= settings.min_test_strength:
        return None
    has_asked = any(call.purpose == "stronger_tests" for call in run.calls)
    has_room = not run.stopped and len(run.attempts) < settings.max_iterations
    if has_asked or not has_room or settings.backend == "agent":
        return None
    told = f"{len(strength.survivors)} of {strength.total} wrong versions of the solution pass its tests"
    return StrengthenTests(survivors=strength.survivors, reason=told)


class Unsettled(Value):
    """Further tests that nothing could settle, and the number of the attempt to go back to without them."""

    attempt: int
    tests: tuple[DroppedTest, ...]


def unsettled_tests(run: Run, base: Attempt) -> Unsettled | None:
    """The further tests that fail for the very code which had passed before they were asked for.

    None where there are none. Where that code failed otherwise than test by test, none of them is kept.
    """
    lineage = lineage_of(run, base)
    passed = _passed_before(lineage)
    if passed is None:
        return None
    judged = next(each for each in reversed(lineage) if _code(each) == _code(passed))
    added = [name for name in _test_names(judged) if name not in _test_names(passed)]
    failed = {function_of(test.name) for test in failed_tests(judged.report or TestReport())}
    wrong = [name for name in added if name in failed] or added
    tests = tuple(DroppedTest(name=name, reason=_UNSETTLED, attempt=judged.number) for name in wrong)
    back = passed if len(wrong) == len(added) else judged
    return Unsettled(attempt=back.number, tests=tests) if tests else None


_UNSETTLED: Final = "meant to fail for mutants, it fails for a solution that had passed all else; no repair settled it"


def _passed_before(lineage: tuple[Attempt, ...]) -> Attempt | None:
    """The attempt whose tests were found weak."""
    return next((before for before, after in pairwise(lineage) if after.action == "strengthen_tests"), None)


def _code(attempt: Attempt) -> str:
    return attempt.candidate.solution.code


def _test_names(attempt: Attempt) -> tuple[str, ...]:
    try:
        return tuple(function.name for function in find_test_functions(attempt.candidate.tests or ""))
    except SyntaxError:
        return ()


REPAIRS_OF_ONE_CANDIDATE: Final = 2
FRESH_CANDIDATES: Final = 3

Decide: TypeAlias = Callable[[Run, Attempt], Action | None]


def next_action(run: Run) -> Action:
    """What to do next with a run as it stands. Pure: the same run always gets the same answer."""
    if not run.attempts:
        return Finish(success=False, reason=run.stopped) if run.stopped else _begin(run)
    pending = pending_attempts(run)
    if len(pending) > 1:
        return JudgeSideBySide()
    if pending:
        return BuildEnvironment() if pending[0].environment is None else RunTests()
    base = base_attempt(run)
    has_passed = base.report is not None and base.report.passed
    decisions = _AFTER_SUCCESS if has_passed else _AFTER_FAILURE
    action = next(action for decide in decisions if (action := decide(run, base)) is not None)
    gives_up = not has_passed and isinstance(action, Finish | Redraft)
    return (_drop_added(run, base) if gives_up else None) or action


def _drop_added(run: Run, base: Attempt) -> DropTests | None:
    """A candidate that passed all it was judged by is not given up for tests that were asked for beyond these."""
    found = unsettled_tests(run, base)
    return DropTests(tests=found.tests, attempt=found.attempt) if found else None


def _begin(run: Run) -> Action:
    if run.settings.backend == "agent":
        return WorkAsAgent(reason="there is no candidate yet")
    return FirstDraft(count=first_drafts(run))


def first_drafts(run: Run) -> int:
    """How many solutions are asked for at first: one, unless the agent's `candidates` says otherwise."""
    return affordable_drafts(run, run.settings.candidates or 1, calls_beside=int(not run.settings.skip_tests))


def told_cause(attempt: Attempt) -> str:
    """What failed an attempt, in one line."""
    cause = attempt.report.causes[0] if attempt.report and attempt.report.causes else _NOTHING_RAN
    return cause.summary


_NOTHING_RAN = Cause(kind="nothing_ran", message="nothing ran: no sample, no example and no test could judge the code")


def _end_unjudged(run: Run, base: Attempt) -> Finish | None:
    """Tests were asked for, the budget was spent before they were written, and nothing of the user's judges."""
    wanted = not run.settings.skip_tests and base.candidate.tests is None
    if not (run.stopped and wanted) or run.request.examples or run.request.tests:
        return None
    told = f"attempt {base.number} ran, and there are no tests to judge it: {run.stopped}"
    return Finish(success=False, reason=told)


def _succeed(_: Run, base: Attempt) -> Finish:
    return Finish(success=True, reason=f"attempt {base.number} passed")


def _end_of_iterations(run: Run, base: Attempt) -> Finish | None:
    if len(run.attempts) < run.settings.max_iterations:
        return None
    tried = f"{len(run.attempts)} attempt{'s' if len(run.attempts) > 1 else ''}"
    return Finish(success=False, reason=f"no success after {tried}; the last failed with {told_cause(base)}")


def _add_packages(_: Run, base: Attempt) -> AddPackages | None:
    packages = missing_packages(base)
    return AddPackages(packages=packages, reason=told_cause(base)) if packages else None


def _add_system_packages(_: Run, base: Attempt) -> AddSystemPackages | None:
    listed = base.candidate.solution.system_packages
    packages = tuple(package for package in needed_system_packages(base) if package not in listed)
    return AddSystemPackages(packages=packages, reason=told_cause(base)) if packages else None


def _end_without_system_packages(_: Run, base: Attempt) -> Finish | None:
    """Listed, and missing all the same: a sandbox shows the system of its machine, and no model can change that."""
    listed = base.candidate.solution.system_packages
    names = " ".join(package for package in needed_system_packages(base) if package in listed)
    if not names:
        return None
    told = f"attempt {base.number} needs the Debian packages {names}, which this machine lacks: {told_cause(base)}"
    return Finish(
        success=False,
        reason=f"{told}. Install them and start again: apt-get install {names}. The solution's image has them.",
    )


def _end_of_asking(run: Run, base: Attempt) -> Finish | None:
    """Below this one in the table, every action asks a model."""
    if not run.stopped:
        return None
    return Finish(success=False, reason=f"{run.stopped}; attempt {base.number} failed with {told_cause(base)}")


def _work_on(run: Run, base: Attempt) -> WorkAsAgent | None:
    return WorkAsAgent(reason=told_cause(base)) if run.settings.backend == "agent" else None


def _repair(run: Run, base: Attempt) -> Repair | None:
    if repairs_of(lineage_of(run, base)) >= REPAIRS_OF_ONE_CANDIDATE:
        return None
    suspicion = suspect(run, base)
    return Repair(reason=told_cause(base), blame=suspicion.blame, blame_reason=suspicion.reason)


def _drop_contradicting(run: Run, base: Attempt) -> DropTests | None:
    tests = contradicting_tests(run, base)
    return DropTests(tests=tests) if tests else None


def _draft_anew(run: Run, base: Attempt) -> Redraft:
    reason = f"{REPAIRS_OF_ONE_CANDIDATE} repairs of one did not help; the last failed with {told_cause(base)}"
    asked = run.settings.candidates
    count = affordable_drafts(run, asked or FRESH_CANDIDATES)
    # Two that differ would leave it undecided: where nobody asked for several, it is all three or one.
    return Redraft(count=count if asked or count == FRESH_CANDIDATES else 1, reason=reason)


def _abstain(run: Run, _: Attempt) -> Finish | None:
    """Of several candidates that pass everything and differ none is more to be trusted than another."""
    attempts = newest_round(run)
    choice = choose(attempts)
    if not choice.is_undecided:
        return None
    number = sum(len(group.attempts) for group in choice.groups if group.passes_all)
    differing = disagreement_of(run.request, attempts)
    told = f"{number} candidates pass every check, and no majority of them agrees: which is right, no check can say"
    return Finish(success=False, reason=f"{told}; add an example or a test that decides. {differing or ''}".strip())


def _drop_outvoted(run: Run, base: Attempt) -> DropTests | None:
    """Tests that most candidates contradict; dropping them tries nothing new, so it counts for no iteration."""
    outvoted = choose(newest_round(run)).outvoted
    names = dict.fromkeys(function_of(name) for name in outvoted)
    reason = "most candidates, each written without knowing the others, do the same and fail it"
    tests = droppable(run, base, (DroppedTest(name=name, reason=reason, attempt=base.number) for name in names))
    return DropTests(tests=tests) if tests else None


_AFTER_SUCCESS: Final[tuple[Decide, ...]] = (_end_unjudged, _abstain, measure_first, strengthen, _succeed)
_AFTER_FAILURE: Final[tuple[Decide, ...]] = (
    _drop_outvoted,
    _drop_contradicting,
    _end_without_system_packages,
    _end_of_iterations,
    _add_packages,
    _add_system_packages,
    _end_of_asking,
    _work_on,
    _repair,
    _draft_anew,
)
