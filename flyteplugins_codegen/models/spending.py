"""What was said to a model, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, model_serializer

from flyteplugins_codegen.models.base import Value

Role = Literal["system", "user", "assistant"]
Purpose = Literal[
    "constraints", "solution", "tests", "stronger_tests", "repair", "code", "improvement", "assertions", "agent"
]


class Tool(Value):
    """What a model may call: its name, what it does, and the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, JsonValue]


class ToolCall(Value):
    """One call of a tool. `arguments` are JSON text as the model wrote it, which may be broken."""

    id: str
    name: str
    arguments: str


class ToolResult(Value):
    """What a tool answered to the call of this id."""

    call_id: str
    content: str
    is_error: bool = False


class Sparse(Value):
    """A value that is written without its empty lists, so that what was written before they existed reads the same."""

    @model_serializer(mode="wrap")
    def _without_empty_lists(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in write(self).items() if value not in ([], ())}


class Message(Sparse):
    """One message: words, and an assistant's calls of tools or a user's results of them.

    `thoughts` are blocks of the provider's own that it wants back as they came, before the calls that follow on them.
    With the first `shared_chars` characters of `content` other calls of the run begin too, so that a provider can keep
    what it made of them.
    """

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    thoughts: tuple[dict[str, JsonValue], ...] = Field(default=(), repr=False)
    shared_chars: int = Field(default=0, exclude=True)

    @property
    def text(self) -> str:
        """All of it as a person reads it."""
        return "\n".join(self._parts())

    def _parts(self) -> Iterator[str]:
        if self.content or not (self.tool_calls or self.tool_results):
            yield self.content
        yield from (f"[calls {call.name}] {call.arguments}" for call in self.tool_calls)
        yield from (f"[answers]\n{result.content}" for result in self.tool_results)


class Usage(Value):
    """Tokens of one or more calls. `input_tokens` includes those read from the provider's cache and written to it.

    `estimated_tokens` of all in and out nobody has told: those of replies that broke off before their end.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_tokens: int = 0
    estimated_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        """The sum, field by field."""
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            estimated_tokens=self.estimated_tokens + other.estimated_tokens,
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


# What may be spent on models, what was, and what a token costs where the user says so.

_MILLION = 1_000_000


class Budget(Value):
    """What may be spent at most; None is no bound. Replies that were paid for in an earlier run spend nothing.

    `max_tokens` counts tokens in and out. `max_wall_s` runs from the moment the budget's account is opened; in a
    workflow, whose stages wait for their pods, the seconds of model calls alone count.
    """

    max_calls: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_cost_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    max_wall_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    def shared(self, spent: Spending, shares: int) -> Budget:
        """The budget for each of some that spend at once and cannot see each other: an equal part of what is left.

        Calls are rounded so that all of them together make one too many at most.
        """
        left_cost = None if self.max_cost_usd is None else self.max_cost_usd - (spent.cost_usd or 0.0)
        left_tokens = 0 if self.max_tokens is None else max(self.max_tokens - spent.tokens, 0)
        left_calls = 0 if self.max_calls is None else max(self.max_calls - spent.calls, 0)
        calls = (left_calls + 1) // shares if left_calls else 0
        return Budget(
            max_calls=None if self.max_calls is None else spent.calls + calls,
            max_tokens=None if self.max_tokens is None else spent.tokens + left_tokens // shares,
            max_cost_usd=None if left_cost is None else (spent.cost_usd or 0.0) + max(left_cost, 0.0) / shares,
            max_wall_s=self.max_wall_s,
        )


DEFAULT_BUDGET = Budget(max_calls=24, max_tokens=500_000)
"""Of an agent at default settings: as many calls as its stages can make if every reply has to be asked for twice."""


class Spending(Value):
    """What was spent. `cost_usd` is the sum of what is known; None as soon as the price of one call is not."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    wall_s: float = 0.0

    def __add__(self, other: Spending) -> Spending:
        """The sum, field by field."""
        known = self.cost_usd is not None and other.cost_usd is not None
        return Spending(
            calls=self.calls + other.calls,
            tokens=self.tokens + other.tokens,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
            wall_s=self.wall_s + other.wall_s,
        )


class Price(Value):
    """US dollars for a million tokens. Input read from or written to a cache costs as other input, unless said."""

    input_usd: float = Field(ge=0, allow_inf_nan=False)
    output_usd: float = Field(ge=0, allow_inf_nan=False)
    cached_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    cache_write_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    def cost_usd(self, usage: Usage) -> float:
        """What this many tokens cost."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        written = min(usage.cache_write_tokens, usage.input_tokens - cached)
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        written_usd = self.input_usd if self.cache_write_usd is None else self.cache_write_usd
        total = (usage.input_tokens - cached - written) * self.input_usd + cached * cached_usd + written * written_usd
        return (total + usage.output_tokens * self.output_usd) / _MILLION
