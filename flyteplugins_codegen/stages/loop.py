"""The one place where the loop is decided. The local driver and the Flyte workflow both ask `next_action`.

A decision is a function of the run and of the attempt that it goes on from: an action, or None to leave it to the next
one. `_AFTER_SUCCESS` and `_AFTER_FAILURE` hold them in order, and a new one is one more line there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.report import Cause
from flyteplugins_codegen.models.run import Attempt, Blame, DroppedTest, Run
from flyteplugins_codegen.stages.certainties import missing_packages
from flyteplugins_codegen.stages.lineage import base_attempt, lineage_of, pending_attempt, repairs_of

REPAIRS_OF_ONE_CANDIDATE: Final = 2
FRESH_CANDIDATES: Final = 3


class FirstDraft(Value):
    """Ask for a solution and, side by side, for tests."""


class FreshDrafts(Value):
    """Ask for `count` solutions anew, none seeing another, with what was learnt from those that failed."""

    count: int
    reason: str


class BuildEnvironment(Value):
    """Resolve what the first candidate that is not judged yet needs."""


class RunTests(Value):
    """Run the first candidate that is not judged yet."""


class AddPackages(Value):
    """Try the same code with more packages: the cause is certain, no model is asked."""

    packages: tuple[str, ...]
    reason: str


class AddSystemPackages(Value):
    """Name the Debian packages that the same code needs: the cause is certain, no model is asked."""

    packages: tuple[str, ...]
    reason: str


class DropTests(Value):
    """Judge the same code without generated tests that are certainly wrong."""

    tests: tuple[DroppedTest, ...]


class Repair(Value):
    """Ask the model once for the cause and the change; `blame` tells it where to look, `blame_reason` why there."""

    reason: str
    blame: Blame | None = None
    blame_reason: str = ""


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
    | FreshDrafts
    | BuildEnvironment
    | RunTests
    | AddPackages
    | AddSystemPackages
    | DropTests
    | Repair
    | Finish
)
Decide: TypeAlias = Callable[[Run, Attempt], "Action | None"]


def next_action(run: Run) -> Action:
    """What to do next with a run as it stands. Pure: the same run always gets the same answer."""
    if not run.attempts:
        return Finish(success=False, reason=run.stopped) if run.stopped else FirstDraft()
    pending = pending_attempt(run)
    if pending is not None:
        return BuildEnvironment() if pending.environment is None else RunTests()
    base = base_attempt(run)
    has_passed = base.report is not None and base.report.passed
    decisions = _AFTER_SUCCESS if has_passed else _AFTER_FAILURE
    return next(action for decide in decisions if (action := decide(run, base)) is not None)


def told_cause(attempt: Attempt) -> str:
    """What failed an attempt, in one line."""
    cause = attempt.report.causes[0] if attempt.report and attempt.report.causes else _NOTHING_RAN
    return cause.told


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


def _end_of_asking(run: Run, base: Attempt) -> Finish | None:
    """Below this one in the table, every action asks a model."""
    if not run.stopped:
        return None
    return Finish(success=False, reason=f"{run.stopped}; attempt {base.number} failed with {told_cause(base)}")


def _repair(run: Run, base: Attempt) -> Repair | None:
    if repairs_of(lineage_of(run, base)) >= REPAIRS_OF_ONE_CANDIDATE:
        return None
    return Repair(reason=told_cause(base))


def _draft_anew(run: Run, base: Attempt) -> FreshDrafts:
    reason = (
        f"{REPAIRS_OF_ONE_CANDIDATE} repairs of one candidate did not help; the last failed with {told_cause(base)}"
    )
    return FreshDrafts(count=_affordable_drafts(run), reason=reason)


def _affordable_drafts(run: Run) -> int:
    """As many as are wanted at once where calls and candidates for all of them are left, else one."""
    max_calls = run.settings.budget.max_calls
    spent = sum(not call.is_reused for call in run.calls)
    has_calls = max_calls is None or max_calls - spent >= FRESH_CANDIDATES
    has_room = run.settings.max_iterations - len(run.attempts) >= FRESH_CANDIDATES
    return FRESH_CANDIDATES if has_calls and has_room else 1


_AFTER_SUCCESS: Final[tuple[Decide, ...]] = (_end_unjudged, _succeed)
_AFTER_FAILURE: Final[tuple[Decide, ...]] = (
    _end_of_iterations,
    _add_packages,
    _end_of_asking,
    _repair,
    _draft_anew,
)
