"""Changes to the attempts of a run. Each function returns a new run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.job import Candidate
from flyteplugins_codegen.models.reference import REFERENCE_FILE
from flyteplugins_codegen.models.run import ActionName, Attempt, Run
from flyteplugins_codegen.models.spending import ModelCall
from flyteplugins_codegen.source.tests import asserts_something, without_tests
from flyteplugins_codegen.stages.actions import Action, AddPackages, AddSystemPackages, DropTests
from flyteplugins_codegen.stages.lineage import base_attempt
from flyteplugins_codegen.stages.loop import next_action
from flyteplugins_codegen.telemetry import logger


class StageResult(Value):
    """The run after a stage that asks a model, and the calls that the stage made, with their messages."""

    run: Run
    calls: tuple[ModelCall, ...] = ()


def with_changed(run: Run, number: int, **changes: Any) -> Run:
    """The run with changed fields of one attempt."""
    attempts = [attempt.model_copy(update=changes) if attempt.number == number else attempt for attempt in run.attempts]
    return run.model_copy(update={"attempts": tuple(attempts)})


def with_next(run: Run, action: ActionName, reason: str, candidate: Candidate, **fields: Any) -> Run:
    """The run with one more attempt, not yet built or run. `fields` are its further fields: `parent`, `blame`."""
    return with_round(run, [Attempt(number=1, action=action, reason=reason, candidate=candidate, **fields)])


def with_unusable(run: Run, action: ActionName, reason: str, flaws: Sequence[str]) -> Run:
    """The run with an attempt for each unusable reply: the base attempt unchanged, with the reply's flaw.

    They count towards `max_iterations`, so that unusable replies end the run too.
    """
    base = base_attempt(run)
    for flaw in flaws:
        changes = {"action": action, "reason": reason, "parent": base.number, "blame": None, "blame_reason": ""}
        run = with_round(run, [base.model_copy(update={**changes, "unusable": flaw})])
    return run


def with_round(run: Run, attempts: Sequence[Attempt]) -> Run:
    """The run with attempts that were made at the same time, numbered after the existing ones."""
    round_number = run.attempts[-1].round_number + 1 if run.attempts else 1
    numbered = [
        attempt.model_copy(update={"number": number, "round_number": round_number})
        for number, attempt in enumerate(attempts, len(run.attempts) + 1)
    ]
    return run.model_copy(update={"attempts": (*run.attempts, *numbered)})


def with_calls(run: Run, calls: tuple[ModelCall, ...]) -> Run:
    """The run with further calls, without their messages, which are passed on beside the run."""
    return run.model_copy(update={"calls": (*run.calls, *without_messages(calls))})


def without_messages(calls: Iterable[ModelCall]) -> tuple[ModelCall, ...]:
    """The calls without their messages, as `Run.calls` has them."""
    return tuple(call.model_copy(update={"messages": ()}) for call in calls)


def settle_certainties(run: Run) -> tuple[Run, Action]:
    """Carry out all next actions that need neither a model nor a sandbox; return the run and the action after them."""
    action = next_action(run)
    while isinstance(action, AddPackages | AddSystemPackages | DropTests):
        run = carry_out(run, action)
        attempt = run.attempts[-1]
        logger.info("%s: %s", attempt.action.replace("_", " "), attempt.reason)
        action = next_action(run)
    return run, action


def carry_out(run: Run, action: AddPackages | AddSystemPackages | DropTests) -> Run:
    """The run with the same code under changed conditions as its next attempt."""
    base = base_attempt(run)
    match action:
        case AddPackages():
            return _with_packages(run, base, "add_packages", action)
        case AddSystemPackages():
            return _with_packages(run, base, "add_system_packages", action)
        case DropTests():
            return _without_tests(run, run.attempts[action.attempt - 1] if action.attempt else base, action)


def _without_tests(run: Run, base: Attempt, action: DropTests) -> Run:
    # If no remaining test asserts anything, there are no tests: then only the user's own checks judge.
    names = [test.name for test in action.tests]
    changes: dict[str, str | None] = {"reference": None} if REFERENCE_FILE in names else {}
    if names != [REFERENCE_FILE]:
        remaining = without_tests(base.candidate.tests or "", names)
        changes["tests"] = remaining if asserts_something(remaining) else None
    candidate = base.candidate.model_copy(update=changes)
    reason = "; ".join(f"{test.name}: {test.reason}" for test in action.tests)
    dropped = run.model_copy(update={"dropped_tests": (*run.dropped_tests, *action.tests)})
    return with_next(dropped, "drop_tests", reason, candidate, parent=base.number)


def _with_packages(run: Run, base: Attempt, name: ActionName, action: AddPackages | AddSystemPackages) -> Run:
    field = "packages" if isinstance(action, AddPackages) else "system_packages"
    solution = base.candidate.solution
    extended = solution.model_copy(update={field: (*getattr(solution, field), *action.packages)})
    candidate = base.candidate.model_copy(update={"solution": extended})
    return with_next(run, name, action.reason, candidate, parent=base.number)
