"""What every model offers: one request in, one reply out. A recording or a journal is a model around a model."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from pydantic import Field, JsonValue

from flyteplugins_codegen.models.conversation import Message, Purpose, Sparse, Tool, ToolCall, Usage

StopReason: TypeAlias = Literal["complete", "truncated", "refused", "filtered", "unknown"]


class ModelRequest(Sparse):
    """One question. `messages` start with the system's; `reply_schema` is portable JSON schema (see `schema.py`).

    `params` are passed on to the provider. A fresh `attempt` asks the same again, for a second sample of the answer.
    Where there are `tools`, the reply may call them, and keeps to the schema only where a server has no tools.
    """

    purpose: Purpose
    messages: tuple[Message, ...]
    reply_name: str
    reply_schema: dict[str, JsonValue]
    params: dict[str, JsonValue] = Field(default_factory=dict)
    deadline_s: float = 300.0
    attempt: int = 0
    tools: tuple[Tool, ...] = ()


class ModelReply(Sparse):
    """What came back, as it came: nobody has looked into `text`, or into the arguments of `tool_calls`, yet.

    `model` is the name that the provider reports. `is_reused` tells a reply that was paid for in an earlier run.
    `thoughts` are as in `Message`.
    """

    text: str
    stop_reason: StopReason = "complete"
    usage: Usage = Usage()
    model: str = ""
    is_reused: bool = False
    tool_calls: tuple[ToolCall, ...] = ()
    thoughts: tuple[dict[str, JsonValue], ...] = ()

    @property
    def message(self) -> Message:
        """The reply as a message of the conversation that goes on from it."""
        return Message(role="assistant", content=self.text, tool_calls=self.tool_calls, thoughts=self.thoughts)


class Model(Protocol):
    """Something that answers. Safe to use from several event loops, and from several tasks of one loop at once."""

    @property
    def name(self) -> str:
        """The name as the settings give it, such as `openai/gpt-5`."""
        ...

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Ask once; transient failures are retried within the request's deadline.

        A reply that was cut off, refused or filtered is a reply, not an error: it was paid for and its usage counts.

        Raises:
            DeadlineError: no complete reply came in time.
            ProviderError: the provider could not be reached or answered with an error.
            ReplayMissError: a recording holds no reply to this request.
        """
        ...
