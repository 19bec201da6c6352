"""What may be spent on models, and what was."""

from __future__ import annotations

from pydantic import Field

from flyteplugins_codegen.models.base import Value


class Budget(Value):
    """What may be spent at most; None is no bound. Replies that were paid for in an earlier run spend nothing.

    `max_tokens` counts tokens in and out; `max_wall_s` runs from the moment the budget's account is opened.
    """

    max_calls: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_cost_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    max_wall_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class Spending(Value):
    """What was spent. `cost_usd` is the sum of what is known; None as soon as the price of one call is not."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0

    def __add__(self, other: Spending) -> Spending:
        """The sum, field by field."""
        known = self.cost_usd is not None and other.cost_usd is not None
        return Spending(
            calls=self.calls + other.calls,
            tokens=self.tokens + other.tokens,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        )
