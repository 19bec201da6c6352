"""The decisions of the generation loop. The local driver and the Flyte workflow both ask `next_action`.

A decision is a function of the run and of its base attempt. It returns an action, or None to pass to the next decision.
`_AFTER_SUCCESS` and `_AFTER_FAILURE` list the decisions in order; a new decision is one more line there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from flyteplugins_codegen.models.reference import REFERENCE_FILE
from flyteplugins_codegen.models.run import Attempt, Cause, DroppedTest, Run
from flyteplugins_codegen.models.spending import ModelCall
from flyteplugins_codegen.source.tests import function_of
from flyteplugins_codegen.stages.actions import (
    Action,
    AddPackages,
    AddSystemPackages,
    BuildEnvironment,
    DropTests,
    Finish,
    FirstDraft,
    JudgeSideBySide,
    MeasureStrength,
    Redraft,
    Repair,
    RunTests,
    StrengthenTests,
    WorkAsAgent,
)
from flyteplugins_codegen.stages.candidates.choose import choose
from flyteplugins_codegen.stages.candidates.explain import disagreement_of
from flyteplugins_codegen.stages.diagnosis import (
    contradicting_tests,
    droppable,
    missing_packages,
    needed_system_packages,
    suspect,
    unsettled_tests,
)
from flyteplugins_codegen.stages.evidence import evidence_of
from flyteplugins_codegen.stages.lineage import (
    base_attempt,
    differs_from_reference,
    lineage_of,
    newest_round,
    pending_attempts,
    repairs_of,
)

REPAIRS_OF_ONE_CANDIDATE: Final = 2
FRESH_CANDIDATES: Final = 3
_NOTHING_RAN: Final = Cause(
    kind="nothing_ran", message="nothing ran: no sample, no example and no test could judge the code"
)

# --- the decision ---

Decide: TypeAlias = Callable[[Run, Attempt], Action | None]


def next_action(run: Run) -> Action:
    """What to do next with a run. Pure: the same run always gets the same answer."""
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
    return (_drop_unsettled(run, base) if gives_up else None) or action


def _begin(run: Run) -> Action:
    if run.settings.backend == "agent":
        return WorkAsAgent(reason="there is no candidate yet")
    return FirstDraft(count=first_drafts(run))


def first_drafts(run: Run) -> int:
    """How many solutions to ask for at first: one, or the agent's `candidates` as far as the budget allows."""
    return _affordable_drafts(run, run.settings.candidates or 1, calls_beside=int(not run.settings.skip_tests))


def _affordable_drafts(run: Run, wanted: int, calls_beside: int = 0) -> int:
    """The number of drafts that budget and iterations allow, up to `wanted` and at least one.

    `calls_beside` is the number of calls that are made at the same time for something else. The cost of a draft is
    estimated by the largest call so far.
    """
    budget = run.settings.budget
    room = [
        wanted,
        run.settings.max_iterations - len(run.attempts),
        _remaining_calls(run, budget.max_calls, lambda _: 1) - calls_beside,
        _remaining_calls(run, budget.max_tokens, lambda call: call.usage.input_tokens + call.usage.output_tokens),
        _remaining_calls(run, budget.max_cost_usd, lambda call: call.cost_usd or 0.0),
    ]
    return max(1, int(min(room)))


def _remaining_calls(run: Run, bound: float | None, measure: Callable[[ModelCall], float]) -> float:
    """How many more calls of the largest size so far fit under the bound."""
    largest = max(map(measure, run.calls), default=0) or measure(ModelCall(purpose="solution", model=""))
    if bound is None or not largest:
        return float("inf")
    return (bound - sum(measure(call) for call in run.calls if not call.is_reused)) / largest


def _drop_unsettled(run: Run, base: Attempt) -> DropTests | None:
    """Drop added tests rather than give up a candidate that had passed all tests before they were added."""
    unsettled = unsettled_tests(run, base)
    return DropTests(tests=unsettled.tests, attempt=unsettled.attempt) if unsettled else None


def describe_cause(attempt: Attempt) -> str:
    """Why the attempt failed, in one line."""
    cause = attempt.report.causes[0] if attempt.report and attempt.report.causes else _NOTHING_RAN
    return cause.summary


# --- after success ---


def _end_unjudged(run: Run, base: Attempt) -> Finish | None:
    """The budget was spent before the wanted tests were written, and the user gave no examples or tests either."""
    wanted = not run.settings.skip_tests and base.candidate.tests is None
    if not (run.stopped and wanted) or run.request.examples or run.request.tests:
        return None
    reason = f"attempt {base.number} ran, and there are no tests to judge it: {run.stopped}"
    return Finish(success=False, reason=reason)


def _abstain(run: Run, _: Attempt) -> Finish | None:
    """Several candidates pass everything and behave differently: none can be trusted more than another."""
    attempts = newest_round(run)
    choice = choose(attempts)
    if not choice.is_undecided:
        return None
    number = sum(len(group.attempts) for group in choice.groups if group.passes_all)
    disagreement = disagreement_of(run.request, attempts)
    reason = f"{number} candidates pass every check, and no majority of them agrees: which is right, no check can say"
    return Finish(
        success=False, reason=f"{reason}; add an example or a test that decides. {disagreement or ''}".strip()
    )


def _measure_first(run: Run, base: Attempt) -> MeasureStrength | None:
    """Generated tests are measured before they count. The user's own tests are right by definition."""
    is_tested = base.candidate.tests is not None and not run.settings.skip_tests
    return MeasureStrength() if is_tested and base.strength is None else None


def _strengthen(run: Run, base: Attempt) -> StrengthenTests | None:
    """Below `min_test_strength`, ask for stronger tests, at most once in a run.

    Not if budget or iterations are spent: a candidate that passed is kept. Not for an agent, which writes its own
    tests.
    """
    strength, settings = base.strength, run.settings
    if strength is None or strength.share is None or strength.share >= settings.min_test_strength:
        return None
    has_asked = any(call.purpose == "stronger_tests" for call in run.calls)
    has_room = not run.stopped and len(run.attempts) < settings.max_iterations
    if has_asked or not has_room or settings.backend == "agent":
        return None
    reason = f"{len(strength.survivors)} of {strength.total} wrong versions of the solution pass its tests"
    reason = f"{strength.reason}; {reason}" if strength.reason else reason
    return StrengthenTests(survivors=strength.survivors, reason=reason)


def _end_without_evidence(run: Run, base: Attempt) -> Finish | None:
    """Nothing but tests that assert no value of some output speaks for the attempt."""
    lacking = evidence_of(run, base).lacking
    return Finish(success=False, reason=f"attempt {base.number} passed, but {lacking}") if lacking else None


def _succeed(_: Run, base: Attempt) -> Finish:
    return Finish(success=True, reason=f"attempt {base.number} passed")


# --- after failure ---


def _drop_outvoted(run: Run, base: Attempt) -> DropTests | None:
    """Drop tests that most candidates contradict. It does not count as an iteration: the code stays the same."""
    outvoted = choose(newest_round(run)).outvoted
    names = dict.fromkeys(function_of(name) for name in outvoted)
    reason = "most candidates, each written without knowing the others, do the same and fail it"
    wrong = [DroppedTest(name=name, reason=reason, attempt=base.number) for name in names]
    tests = (*droppable(run, base, wrong), *(test for test in wrong if test.name == REFERENCE_FILE))
    return DropTests(tests=tests) if tests else None


def _drop_outvoted_reference(_: Run, base: Attempt) -> DropTests | None:
    """Two of three: an earlier draft, written without knowing this one, has the same outputs."""
    reference = base.report and base.report.reference
    if not (reference and reference.difference and reference.witnesses):
        return None
    witnesses = " and ".join(f"attempt {number}" for number in reference.witnesses)
    reason = f"{witnesses}, written independently, has the outputs of attempt {base.number}"
    return DropTests(tests=(DroppedTest(name=REFERENCE_FILE, reason=reason, attempt=base.number),))


def _drop_contradicting(run: Run, base: Attempt) -> DropTests | None:
    tests = contradicting_tests(run, base)
    return DropTests(tests=tests) if tests else None


def _end_without_system_packages(_: Run, base: Attempt) -> Finish | None:
    """Packages are listed and still missing: a sandbox has the system of its machine, which no model can change."""
    listed = base.candidate.solution.system_packages
    names = " ".join(package for package in needed_system_packages(base) if package in listed)
    if not names:
        return None
    reason = (
        f"attempt {base.number} needs the Debian packages {names}, which this machine lacks: {describe_cause(base)}"
    )
    return Finish(
        success=False,
        reason=f"{reason}. Install them and start again: apt-get install {names}. The solution's image has them.",
    )


def _end_of_iterations(run: Run, base: Attempt) -> Finish | None:
    if len(run.attempts) < run.settings.max_iterations:
        return None
    count = f"{len(run.attempts)} attempt{'s' if len(run.attempts) > 1 else ''}"
    return Finish(success=False, reason=f"no success after {count}; the last failed with {describe_cause(base)}")


def _add_packages(_: Run, base: Attempt) -> AddPackages | None:
    packages = missing_packages(base)
    return AddPackages(packages=packages, reason=describe_cause(base)) if packages else None


def _add_system_packages(_: Run, base: Attempt) -> AddSystemPackages | None:
    listed = base.candidate.solution.system_packages
    packages = tuple(package for package in needed_system_packages(base) if package not in listed)
    return AddSystemPackages(packages=packages, reason=describe_cause(base)) if packages else None


def _end_of_asking(run: Run, base: Attempt) -> Finish | None:
    """All decisions below this one in the table ask a model."""
    if not run.stopped:
        return None
    return Finish(success=False, reason=f"{run.stopped}; attempt {base.number} failed with {describe_cause(base)}")


def _work_on(run: Run, base: Attempt) -> WorkAsAgent | None:
    return WorkAsAgent(reason=describe_cause(base)) if run.settings.backend == "agent" else None


def _settle_difference(run: Run, base: Attempt) -> Redraft | Finish | None:
    """If only the reference still differs after a repair, a third computation decides; without a majority, nobody."""
    if not differs_from_reference(base.report):
        return None
    lineage = lineage_of(run, base)
    if not any(attempt.action == "independent_draft" for attempt in run.attempts):
        reason = f"a repair did not settle which is right: {describe_cause(base)}"
        return Redraft(count=1, reason=reason, is_third=True) if repairs_of(lineage) else None
    return Finish(
        success=False,
        reason=f"independent computations differ, and no two of three agree; add an example that decides. "
        f"Attempt {base.number}: {describe_cause(base)}",
    )


def _repair(run: Run, base: Attempt) -> Repair | None:
    if repairs_of(lineage_of(run, base)) >= REPAIRS_OF_ONE_CANDIDATE:
        return None
    suspicion = suspect(run, base)
    return Repair(reason=describe_cause(base), blame=suspicion.blame, blame_reason=suspicion.reason)


def _redraft(run: Run, base: Attempt) -> Redraft:
    reason = f"{REPAIRS_OF_ONE_CANDIDATE} repairs of one did not help; the last failed with {describe_cause(base)}"
    requested = run.settings.candidates
    count = _affordable_drafts(run, requested or FRESH_CANDIDATES)
    # Two candidates that differ decide nothing: unless the user asked for a number, it is either all three or one.
    return Redraft(count=count if requested or count == FRESH_CANDIDATES else 1, reason=reason)


_AFTER_SUCCESS: Final[tuple[Decide, ...]] = (
    _end_unjudged,
    _abstain,
    _measure_first,
    _strengthen,
    _end_without_evidence,
    _succeed,
)
_AFTER_FAILURE: Final[tuple[Decide, ...]] = (
    _drop_outvoted,
    _drop_outvoted_reference,
    _drop_contradicting,
    _end_without_system_packages,
    _end_of_iterations,
    _add_packages,
    _add_system_packages,
    _end_of_asking,
    _work_on,
    _settle_difference,
    _repair,
    _redraft,
)
