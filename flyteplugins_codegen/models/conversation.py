"""What was said to a model, and what it cost."""

from __future__ import annotations

from typing import Literal

from flyteplugins_codegen.models.base import Value

Role = Literal["system", "user", "assistant"]
Purpose = Literal["constraints", "solution", "tests", "repair", "code", "improvement", "assertions"]


class Message(Value):
    """One message."""

    role: Role
    content: str


class Usage(Value):
    """Tokens of one or more calls. `input_tokens` includes those read from the provider's cache and written to it."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        """The sum, field by field."""
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
        )


class ModelCall(Value):
    """One exchange with a model. `is_reused` tells a reply that was paid for in an earlier run.

    `cost_usd` is what this run paid for it; None where the price is unknown, or where nobody asked for it.
    """

    purpose: Purpose
    model: str
    usage: Usage = Usage()
    cost_usd: float | None = None
    wall_s: float = 0.0
    is_reused: bool = False
    messages: tuple[Message, ...] = ()
