"""JSON in the text of a reply: the object that was asked for, and calls of tools where the server supports none.

Everything here is pure and takes linear time. Of several different objects none is chosen: that is an error.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest
from flyteplugins_codegen.llm.wire import arguments_object
from flyteplugins_codegen.models.spending import Message, Tool, ToolCall

# Not strict: a raw line break inside a string is the most frequent mistake of models that write code into JSON.
_DECODER = json.JSONDecoder(strict=False)
_MAX_STARTS = 64
_MAX_ENCODINGS = 3
_TOOL = "tool"


def find_object(text: str, required: Collection[str]) -> dict[str, Any]:
    """The one JSON object that holds the `required` fields, or the only object there is.

    It may be fenced in Markdown, surrounded by prose, encoded twice, or wrapped: `{"solution": {...}}`. Raises
    ValueError, with a message for the model, when there is none or more than one.
    """
    text = _without_thoughts(text)
    if not text:
        raise ValueError("the reply is empty")
    whole = _decode_whole(text)
    objects = _objects_in(whole) if whole is not None else list(_objects_between(text))
    fitting = _distinct(value for candidate in objects for value in _unwrapped(candidate, required))
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise ValueError(f"the reply holds {len(fitting)} different JSON objects, where one is asked for")
    error = "" if whole is not None else _error_at_first_brace(text)
    if len(objects) == 1 and not error:
        return objects[0]
    raise ValueError(f"the reply holds no complete JSON object: {error or f'it begins {text[:60]!r}'}")


def _without_thoughts(text: str) -> str:
    """The text after a reasoning model's thoughts, which some servers leave in the answer."""
    text = text.strip().removeprefix("\ufeff")
    if text.startswith("<think>"):
        _, _, text = text.partition("</think>")
    return text.strip()


def _decode_whole(text: str) -> Any:
    """The value of a text that is JSON as a whole, decoded again while it is JSON in a string; None for other texts."""
    value: Any = text
    for _ in range(_MAX_ENCODINGS):
        try:
            value = _DECODER.decode(value)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, str):
            return value
    return None


def _objects_in(value: Any) -> list[dict[str, Any]]:
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, dict)]


def _objects_between(text: str) -> Iterator[dict[str, Any]]:
    """The outermost objects in prose, left to right."""
    position = text.find("{")
    for _ in range(_MAX_STARTS):
        if position < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            yield value
        position = text.find("{", end)


def _unwrapped(candidate: dict[str, Any], required: Collection[str]) -> list[dict[str, Any]]:
    """The candidate if it has the fields, else the objects in it that have them."""
    if all(name in candidate for name in required):
        return [candidate]
    inner = [_decode_whole(value) if isinstance(value, str) else value for value in candidate.values()]
    return [value for value in inner if isinstance(value, dict) and all(name in value for name in required)]


def _distinct(objects: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    distinct: list[dict[str, Any]] = []
    for value in objects:
        if value not in distinct:
            distinct.append(value)
    return distinct


def _error_at_first_brace(text: str) -> str:
    start = text.find("{")
    if start < 0:
        return ""
    try:
        _DECODER.raw_decode(text, start)
    except RecursionError:
        return "it is nested too deeply"
    except ValueError as error:
        return str(error)
    return ""


def has_required_fields(schema: Mapping[str, Any], text: str) -> bool:
    """Whether the text is a JSON object with every field of the schema that can be neither null nor an empty list."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    fields = schema.get("properties", {})
    needed = [name for name, field in fields.items() if "anyOf" not in field and field.get("type") != "array"]
    return isinstance(value, dict) and all(name in value for name in needed)


def describe_tools(tools: Iterable[Tool]) -> str:
    """The instruction for a model to call tools in plain text, with the list of them."""
    lines = [f"- {tool.name}: {tool.description} Arguments: {json.dumps(tool.parameters)}" for tool in tools]
    instruction = f'Call one tool by replying with one JSON object, {{"{_TOOL}": NAME, and its arguments}}. The tools:'
    return "\n".join([instruction, *lines])


def without_tools(request: ModelRequest) -> ModelRequest:
    """The same request without tools: the reply is to be one call as a JSON object; earlier calls become text."""
    first, *others = request.messages
    system = first.model_copy(update={"content": f"{first.content}\n\n{describe_tools(request.tools)}"})
    messages = (system, *(_as_text(message) for message in others))
    return request.model_copy(update={"messages": messages, "tools": (), "reply_schema": _call_schema(request)})


def _as_text(message: Message) -> Message:
    calls = [_call_json(call) for call in message.tool_calls]
    results = [f"{'Error: ' if result.is_error else ''}{result.content}" for result in message.tool_results]
    return Message(role=message.role, content="\n\n".join(part for part in (message.content, *calls, *results) if part))


def _call_json(call: ToolCall) -> str:
    return json.dumps({_TOOL: call.name, **arguments_object(call)}, ensure_ascii=False)


def _call_schema(request: ModelRequest) -> dict[str, JsonValue]:
    """One object with the arguments of all tools, each nullable; a union of objects is not portable."""
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


def with_tool_calls(reply: ModelReply, tools: Sequence[Tool]) -> ModelReply:
    """The reply with a unique id for each of its calls; without calls, with the one that its text contains, if any."""
    if reply.tool_calls or reply.stop_reason != "complete":
        return reply.model_copy(update={"tool_calls": tuple(_with_unique_ids(reply.tool_calls))})
    call = _call_in(reply.text, tools)
    return reply if call is None else reply.model_copy(update={"tool_calls": (call,), "text": ""})


def _with_unique_ids(calls: Sequence[ToolCall]) -> Iterator[ToolCall]:
    """The calls, with new ids for missing and repeated ones, which some servers send."""
    seen: set[str] = set()
    for number, call in enumerate(calls, 1):
        is_unique = bool(call.id) and call.id not in seen
        # Nine letters and digits: the only form that the strictest of the servers accepts.
        numbered = call if is_unique else call.model_copy(update={"id": f"call{number:05}"})
        seen.add(numbered.id)
        yield numbered


def _call_in(text: str, tools: Sequence[Tool]) -> ToolCall | None:
    try:
        value = find_object(text, (_TOOL,))
    except ValueError:
        return None
    name = value.get(_TOOL)
    if name not in {tool.name for tool in tools}:
        return None
    arguments = {key: field for key, field in value.items() if key != _TOOL and field is not None}
    nested = arguments.get("arguments")
    if isinstance(nested, dict) and len(arguments) == 1:
        arguments = nested
    return ToolCall(id="call00001", name=str(name), arguments=json.dumps(arguments, ensure_ascii=False))
