"""Calls of tools where the server has none: asked for, and read, as one JSON object in the text. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import JsonValue

from flyteplugins_codegen.llm.json_reply import find_object
from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest
from flyteplugins_codegen.models.conversation import Message, Tool, ToolCall

_TOOL = "tool"


def describe_tools(tools: Iterable[Tool]) -> str:
    """How to call a tool in plain text, and which there are."""
    lines = [f"- {tool.name}: {tool.description} Arguments: {json.dumps(tool.parameters)}" for tool in tools]
    how = f'Call one tool by replying with one JSON object, {{"{_TOOL}": NAME, and its arguments}}. The tools:'
    return "\n".join([how, *lines])


def as_plain(request: ModelRequest) -> ModelRequest:
    """The same question without tools: the reply is to be one call as an object, and earlier ones stand in the text."""
    first, *others = request.messages
    told = first.model_copy(update={"content": f"{first.content}\n\n{describe_tools(request.tools)}"})
    messages = (told, *(_plain(message) for message in others))
    return request.model_copy(update={"messages": messages, "tools": (), "reply_schema": _action_schema(request)})


def _plain(message: Message) -> Message:
    calls = [_action(call) for call in message.tool_calls]
    results = [f"{'Error: ' if result.is_error else ''}{result.content}" for result in message.tool_results]
    return Message(role=message.role, content="\n\n".join(part for part in (message.content, *calls, *results) if part))


def _action(call: ToolCall) -> str:
    return json.dumps({_TOOL: call.name, **arguments_object(call)}, ensure_ascii=False)


def _action_schema(request: ModelRequest) -> dict[str, JsonValue]:
    """One object with the arguments of all tools, each of which may be null; a choice of objects is not portable."""
    fields: dict[str, JsonValue] = {_TOOL: {"type": "string", "enum": [tool.name for tool in request.tools]}}
    for tool in request.tools:
        arguments = tool.parameters.get("properties")
        for name, field in arguments.items() if isinstance(arguments, dict) else ():
            fields[name] = {"anyOf": [field, {"type": "null"}]}
    names: list[JsonValue] = list(fields)
    return {
        "title": request.reply_name,
        "type": "object",
        "properties": fields,
        "required": names,
        "additionalProperties": False,
    }


def with_calls(reply: ModelReply, tools: Sequence[Tool]) -> ModelReply:
    """The reply with every call under an id of its own, and with the call that its text holds where it makes none."""
    if reply.tool_calls or reply.stop_reason != "complete":
        return reply.model_copy(update={"tool_calls": tuple(_numbered(reply.tool_calls))})
    call = _call_in(reply.text, tools)
    return reply if call is None else reply.model_copy(update={"tool_calls": (call,), "text": ""})


def _numbered(calls: Sequence[ToolCall]) -> Iterator[ToolCall]:
    """Ids that are missing or there twice, as some servers send them, replaced."""
    seen: set[str] = set()
    for number, call in enumerate(calls, 1):
        is_fresh = bool(call.id) and call.id not in seen
        # Nine letters and digits: what the strictest of the servers takes.
        told = call if is_fresh else call.model_copy(update={"id": f"call{number:05}"})
        seen.add(told.id)
        yield told


def _call_in(text: str, tools: Sequence[Tool]) -> ToolCall | None:
    try:
        found = find_object(text, (_TOOL,))
    except ValueError:
        return None
    name = found.get(_TOOL)
    if name not in {tool.name for tool in tools}:
        return None
    arguments = {key: value for key, value in found.items() if key != _TOOL and value is not None}
    nested = arguments.get("arguments")
    if isinstance(nested, dict) and len(arguments) == 1:
        arguments = nested
    return ToolCall(id="call00001", name=str(name), arguments=json.dumps(arguments, ensure_ascii=False))


def arguments_text(value: Any) -> str:
    """The arguments of a call as text; some servers send them as an object."""
    return value if isinstance(value, str) else json.dumps({} if value is None else value, ensure_ascii=False)


def arguments_json(call: ToolCall) -> str:
    """The arguments as JSON in any case: servers read them again for the model's template, which broken ones break."""
    return json.dumps(arguments_object(call), ensure_ascii=False)


def arguments_object(call: ToolCall) -> dict[str, JsonValue]:
    """The arguments as an object, an empty one where they are none: what broke is told in the call's result."""
    try:
        value = json.loads(call.arguments)
        # Without half characters, which JSON can hold and no request.
        value = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
