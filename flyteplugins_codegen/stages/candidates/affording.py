"""How many candidates may be asked for at once, by what is left of the budget and of the iterations."""

from __future__ import annotations

from collections.abc import Callable

from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.run import Run


def affordable_drafts(run: Run, wanted: int, calls_beside: int = 0) -> int:
    """As many of the drafts that are wanted at once as there is room for; one at least, which the budget then decides.

    `calls_beside` are made at the same time for something else. What a solution takes is not known before there was
    one: the largest call so far stands for it.
    """
    budget = run.settings.budget
    room = [
        wanted,
        run.settings.max_iterations - len(run.attempts),
        _room(run, budget.max_calls, lambda _: 1) - calls_beside,
        _room(run, budget.max_tokens, lambda call: call.usage.input_tokens + call.usage.output_tokens),
        _room(run, budget.max_cost_usd, lambda call: call.cost_usd or 0.0),
    ]
    return max(1, int(min(room)))


def _room(run: Run, bound: float | None, measure: Callable[[ModelCall], float]) -> float:
    """How often the largest call so far still fits below the bound."""
    largest = max(map(measure, run.calls), default=0) or measure(ModelCall(purpose="solution", model=""))
    if bound is None or not largest:
        return float("inf")
    return (bound - sum(measure(call) for call in run.calls if not call.is_reused)) / largest
