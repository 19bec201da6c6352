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
