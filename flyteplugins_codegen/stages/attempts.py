"""Changes of a run's attempts, each giving a new run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flyteplugins_codegen.models.job import Candidate
from flyteplugins_codegen.models.run import ActionName, Attempt, Run
from flyteplugins_codegen.models.spending import ModelCall
from flyteplugins_codegen.source.tests import asserts_something, without_tests
from flyteplugins_codegen.stages.lineage import base_attempt
from flyteplugins_codegen.stages.loop import Action, AddPackages, AddSystemPackages, DropTests, next_action
from flyteplugins_codegen.telemetry import logger


def with_changed(run: Run, number: int, **changes: Any) -> Run:
    """The run with fields of one attempt changed."""
    attempts = [attempt.model_copy(update=changes) if attempt.number == number else attempt for attempt in run.attempts]
    return run.model_copy(update={"attempts": tuple(attempts)})


def with_next(run: Run, action: ActionName, reason: str, candidate: Candidate, **made: Any) -> Run:
    """The run with one attempt more, not yet built or run. `made` are further fields: `parent`, `blame`."""
    return with_round(run, [Attempt(number=1, action=action, reason=reason, candidate=candidate, **made)])


def with_unusable(run: Run, action: ActionName, reason: str, why: Sequence[str]) -> Run:
    """The run with an attempt for each question that brought no usable reply: the one it goes on from, as it stands.

    They count as every attempt does, so that replies of which none can be used end the run as well.
    """
    base = base_attempt(run)
    for unusable in why:
        made = {"action": action, "reason": reason, "parent": base.number, "blame": None, "blame_reason": ""}
        run = with_round(run, [base.model_copy(update={**made, "unusable": unusable})])
    return run


def with_round(run: Run, attempts: Sequence[Attempt]) -> Run:
    """The run with attempts that were made at once, numbered as they follow those that are there."""
    round_number = run.attempts[-1].round_number + 1 if run.attempts else 1
    numbered = [
        attempt.model_copy(update={"number": number, "round_number": round_number})
        for number, attempt in enumerate(attempts, len(run.attempts) + 1)
    ]
    return run.model_copy(update={"attempts": (*run.attempts, *numbered)})


def with_calls(run: Run, calls: tuple[ModelCall, ...]) -> Run:
    """The run with calls accounted for, without their messages: those travel beside the loop."""
    return run.model_copy(update={"calls": (*run.calls, *without_messages(calls))})


def without_messages(calls: Iterable[ModelCall]) -> tuple[ModelCall, ...]:
    """The calls as a run accounts for them: without what was said."""
    return tuple(call.model_copy(update={"messages": ()}) for call in calls)


def settle_certainties(run: Run) -> tuple[Run, Action]:
    """The run with all done that needs neither model nor sandbox, and what comes next then."""
    action = next_action(run)
    while isinstance(action, AddPackages | AddSystemPackages | DropTests):
        run = carry_out(run, action)
        made = run.attempts[-1]
        logger.info("%s: %s", made.action.replace("_", " "), made.reason)
        action = next_action(run)
    return run, action


def carry_out(run: Run, action: AddPackages | AddSystemPackages | DropTests) -> Run:
    """The same code under other circumstances, as the next attempt."""
    base = base_attempt(run)
    match action:
        case AddPackages():
            return _with_names(run, base, "add_packages", action)
        case AddSystemPackages():
            return _with_names(run, base, "add_system_packages", action)
        case DropTests():
            return _without_tests(run, run.attempts[action.attempt - 1] if action.attempt else base, action)


def _without_tests(run: Run, base: Attempt, action: DropTests) -> Run:
    """Tests of which nothing that asserts is left are no tests: then the user's own checks judge alone."""
    left = without_tests(base.candidate.tests or "", [test.name for test in action.tests])
    candidate = base.candidate.model_copy(update={"tests": left if asserts_something(left) else None})
    reason = "; ".join(f"{test.name}: {test.reason}" for test in action.tests)
    dropped = run.model_copy(update={"dropped_tests": (*run.dropped_tests, *action.tests)})
    return with_next(dropped, "drop_tests", reason, candidate, parent=base.number)


def _with_names(run: Run, base: Attempt, name: ActionName, action: AddPackages | AddSystemPackages) -> Run:
    field = "packages" if isinstance(action, AddPackages) else "system_packages"
    solution = base.candidate.solution
    added = solution.model_copy(update={field: (*getattr(solution, field), *action.packages)})
    candidate = base.candidate.model_copy(update={"solution": added})
    return with_next(run, name, action.reason, candidate, parent=base.number)
