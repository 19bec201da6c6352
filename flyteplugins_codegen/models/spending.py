"""Messages to and from a model, the tokens and money that they cost, and the budget for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, model_serializer

from flyteplugins_codegen.models.base import Value

_MILLION = 1_000_000

Role = Literal["system", "user", "assistant"]
Purpose = Literal[
    "constraints", "solution", "tests", "stronger_tests", "repair", "code", "improvement", "assertions", "agent"
]


class Tool(Value):
    """A tool that a model may call. `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, JsonValue]


class ToolCall(Value):
    """One call of a tool. `arguments` is JSON text as the model wrote it, and may be invalid."""

    id: str
    name: str
    arguments: str


class ToolResult(Value):
    """A tool's answer to the call with this id."""

    call_id: str
    content: str
    is_error: bool = False


class Sparse(Value):
    """A value whose empty lists are not serialised, so that a new list field does not change the JSON of old values."""

    @model_serializer(mode="wrap")
    def _without_empty_lists(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in write(self).items() if value not in ([], ())}


class Message(Sparse):
    """One message: text, and the assistant's tool calls or the user's results of them.

    `thoughts` are blocks of the provider that must be sent back unchanged, before the tool calls that follow them.
    Other calls of the run begin with the same first `shared_chars` characters of `content`, so that a provider can
    cache them.
    """

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    thoughts: tuple[dict[str, JsonValue], ...] = Field(default=(), repr=False)
    shared_chars: int = Field(default=0, exclude=True)

    @property
    def text(self) -> str:
        """The whole message as text for people."""
        return "\n".join(self._parts())

    def _parts(self) -> Iterator[str]:
        if self.content or not (self.tool_calls or self.tool_results):
            yield self.content
        yield from (f"[calls {call.name}] {call.arguments}" for call in self.tool_calls)
        yield from (f"[answers]\n{result.content}" for result in self.tool_results)


class Usage(Value):
    """Tokens of one or more calls. `input_tokens` includes those read from the provider's cache and written to it.

    `estimated_tokens` is how many of all tokens were estimated: those of replies that broke off.
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
    """One request to a model and its reply. `is_reused` marks a reply that an earlier run paid for.

    `cost_usd` is what this run paid; None if the price is unknown or was not looked up.
    """

    purpose: Purpose
    model: str
    usage: Usage = Usage()
    cost_usd: float | None = None
    wall_s: float = 0.0
    is_reused: bool = False
    messages: tuple[Message, ...] = ()


class Budget(Value):
    """The limits of what a run may spend on models; None is no limit. Replies paid for in an earlier run are free.

    `max_tokens` counts tokens in and out. `max_wall_s` counts from the opening of the budget's account; in a workflow,
    whose stages wait for pods, only the seconds of model calls count.
    """

    max_calls: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_cost_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    max_wall_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    def shared(self, spent: Spending, shares: int) -> Budget:
        """The budget for each of `shares` that spend at the same time: an equal part of what remains.

        Calls are rounded so that all together make at most one too many.
        """
        remaining_cost = None if self.max_cost_usd is None else self.max_cost_usd - (spent.cost_usd or 0.0)
        remaining_tokens = 0 if self.max_tokens is None else max(self.max_tokens - spent.tokens, 0)
        remaining_calls = 0 if self.max_calls is None else max(self.max_calls - spent.calls, 0)
        calls = (remaining_calls + 1) // shares if remaining_calls else 0
        cost = None if remaining_cost is None else (spent.cost_usd or 0.0) + max(remaining_cost, 0.0) / shares
        return Budget(
            max_calls=None if self.max_calls is None else spent.calls + calls,
            max_tokens=None if self.max_tokens is None else spent.tokens + remaining_tokens // shares,
            max_cost_usd=cost,
            max_wall_s=self.max_wall_s,
        )


DEFAULT_BUDGET = Budget(max_calls=24, max_tokens=500_000)
"""The default: as many calls as the stages can make with default settings if every reply is requested twice."""


class Spending(Value):
    """What was spent. `cost_usd` is None if the price of any call is unknown."""

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
    """US dollars for a million tokens. Cache reads and writes cost as much as other input if they are None."""

    input_usd: float = Field(ge=0, allow_inf_nan=False)
    output_usd: float = Field(ge=0, allow_inf_nan=False)
    cached_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    cache_write_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    def cost_usd(self, usage: Usage) -> float:
        """The cost of these tokens."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        written = min(usage.cache_write_tokens, usage.input_tokens - cached)
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        written_usd = self.input_usd if self.cache_write_usd is None else self.cache_write_usd
        total = (usage.input_tokens - cached - written) * self.input_usd + cached * cached_usd + written * written_usd
        return (total + usage.output_tokens * self.output_usd) / _MILLION
