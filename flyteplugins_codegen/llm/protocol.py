"""The contract of a model: one request in, one reply out; and the JSON schemas that every provider accepts.

Recordings, the cache of replies and budgets are models around a model.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, Protocol, TypeAlias

from pydantic import BaseModel, Field, JsonValue

from flyteplugins_codegen.models.spending import Message, Purpose, Sparse, Tool, ToolCall, Usage

StopReason: TypeAlias = Literal["complete", "truncated", "refused", "filtered", "unknown"]

_DROPPED_KEYWORDS = ("title", "default", "minLength", "$defs")


class ModelRequest(Sparse):
    """One request. `messages` start with the system message; `reply_schema` comes from `portable_schema`.

    `params` are passed to the provider. Another `attempt` is the same request again, for another sample of the reply.
    With `tools` the reply may call them, and follows the schema only where the server supports no tools.
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
    """A reply as it was received: neither `text` nor the arguments of `tool_calls` are validated.

    `model` is the name that the provider reports. `is_reused` marks a reply that was paid for in an earlier run.
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
        """The reply as a message, for a conversation that continues after it."""
        return Message(role="assistant", content=self.text, tool_calls=self.tool_calls, thoughts=self.thoughts)


class Model(Protocol):
    """A model. Safe to use from several event loops, and from several tasks of one loop at once."""

    @property
    def name(self) -> str:
        """The name as in the settings, such as `openai/gpt-5`."""
        ...

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Make the request; transient failures are retried until its deadline.

        A reply that was cut off, refused or filtered is a reply and no error: it was paid for and its usage counts.

        Raises:
            DeadlineError: no complete reply came in time.
            ProviderError: the provider could not be reached or answered with an error.
            ReplayMissError: a recording has no reply to this request.
        """
        ...


def portable_schema(reply_type: type[BaseModel], left_out: Collection[str] = ()) -> dict[str, Any]:
    """The reply's schema in the subset that OpenAI's strict mode, Anthropic, vLLM and llama.cpp have in common.

    Fields that are `left_out` are not in it. References are resolved, every field is required (an optional one may be
    null or empty), and additional ones are forbidden. Only the outermost object keeps its title, the reply's name.
    Bounds are checked by our own validation.

    Raises TypeError for a model that the subset cannot express: one with a dict field or `Any`, or a recursive one.
    """
    schema = reply_type.model_json_schema()
    for name in left_out:
        del schema["properties"][name]
    try:
        return {"title": reply_type.__name__, **_portable(schema, schema.get("$defs", {}))}
    except RecursionError:
        raise TypeError(f"{reply_type.__name__} contains itself: no provider takes a recursive schema") from None


def _portable(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    reference = node.get("$ref")
    if reference is not None:
        target = definitions[reference.rpartition("/")[2]]
        return _portable({**target, **{key: value for key, value in node.items() if key != "$ref"}}, definitions)
    plain = {key: value for key, value in node.items() if key not in _DROPPED_KEYWORDS}
    if "anyOf" in plain:
        return {**plain, "anyOf": [_portable(choice, definitions) for choice in plain["anyOf"]]}
    if plain.get("type") == "array":
        return {**plain, "items": _portable(plain.get("items", {}), definitions)}
    return _portable_object(plain, definitions) if plain.get("type") == "object" else _checked(plain)


def _portable_object(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    fields = node.get("properties")
    if not fields:
        raise TypeError("a reply's field is an open dict: write a list of objects instead")
    return {
        **node,
        "properties": {name: _portable(field, definitions) for name, field in fields.items()},
        "required": list(fields),
        "additionalProperties": False,
    }


def _checked(node: dict[str, Any]) -> dict[str, Any]:
    if "type" not in node and "enum" not in node and "const" not in node:
        raise TypeError("a reply's field is of any type: name one")
    return node
