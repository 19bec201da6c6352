"""Changes of a run's attempts, each giving a new run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flyteplugins_codegen.models.candidate import Candidate
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.run import ActionName, Attempt, Run
from flyteplugins_codegen.stages.loop import AddPackages


def with_last(run: Run, **changes: Any) -> Run:
    """The run with fields of its newest attempt changed."""
    changed = run.attempts[-1].model_copy(update=changes)
    return run.model_copy(update={"attempts": (*run.attempts[:-1], changed)})


def with_next(run: Run, action: ActionName, reason: str, candidate: Candidate) -> Run:
    """The run with one attempt more, not yet built or run."""
    attempt = Attempt(number=len(run.attempts) + 1, action=action, reason=reason, candidate=candidate)
    return run.model_copy(update={"attempts": (*run.attempts, attempt)})


def with_calls(run: Run, calls: tuple[ModelCall, ...]) -> Run:
    """The run with calls accounted for, without their messages: those travel beside the loop."""
    return run.model_copy(update={"calls": (*run.calls, *without_messages(calls))})


def without_messages(calls: Iterable[ModelCall]) -> tuple[ModelCall, ...]:
    """The calls as a run accounts for them: without what was said."""
    return tuple(call.model_copy(update={"messages": ()}) for call in calls)


def add_packages(run: Run, action: AddPackages) -> Run:
    """The same code with more packages, as the next attempt."""
    last = run.attempts[-1].candidate
    packages = (*last.solution.packages, *action.packages)
    solution = last.solution.model_copy(update={"packages": packages})
    return with_next(run, "add_packages", action.reason, last.model_copy(update={"solution": solution}))
