"""What models were asked for and what it took: a row for each call, and their sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flyteplugins_codegen.llm.prices import total_cost_usd
from flyteplugins_codegen.models.conversation import ModelCall, Usage
from flyteplugins_codegen.stages.report.markup import dollars, fitting, seconds, table, text

_MOST_CALLS: Final = 300
_HEAD: Final = ("", "for", "model", "input", "of it cached", "output", "of it reasoning", "cost", "time")


def render_spending(calls: Sequence[ModelCall]) -> str:
    """The table of all calls."""
    if not calls:
        return '<p class="muted">No model was asked.</p>'
    rows = [(str(number), *_row(call)) for number, call in enumerate(calls[:_MOST_CALLS], 1)]
    hidden = f"<p>{len(calls) - _MOST_CALLS} more calls</p>" if len(calls) > _MOST_CALLS else ""
    return table(_HEAD, rows, _total(calls)) + hidden


def _row(call: ModelCall) -> tuple[str, ...]:
    took = "kept from an earlier run" if call.is_reused else seconds(call.wall_s)
    cost = dollars(call.cost_usd)
    return (text(call.purpose.replace("_", " ")), fitting(call.model, 120), *_tokens(call.usage), cost, took)


def _total(calls: Sequence[ModelCall]) -> tuple[str, ...]:
    used = sum((call.usage for call in calls), Usage())
    wall_s = sum(call.wall_s for call in calls if not call.is_reused)
    return ("", "all", "", *_tokens(used), dollars(total_cost_usd(calls)), seconds(wall_s))


def _tokens(usage: Usage) -> tuple[str, ...]:
    counts = (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens)
    return tuple(f"{count:,}" for count in counts)
