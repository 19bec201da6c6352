"""Reading what servers send, of which some fields are always missing somewhere."""

from __future__ import annotations

import functools
import json
import operator
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import JsonValue

from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest
from flyteplugins_codegen.llm.retries import CallFailure, parse_retry_after
from flyteplugins_codegen.models.spending import Message, Tool, ToolCall, Usage


def parse_object(body: str) -> dict[str, Any]:
    """The answer as a JSON object. Raises ValueError that shows how it begins; also for an error sent as a success."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError(f"the answer begins {body[:80]!r}")  # noqa: TRY004 - one error for all that is unreadable
    if value.get("error"):
        raise ValueError(dig_text(value, "error", "message") or str(value["error"]))
    return value


def dig(value: Any, *path: str | int) -> Any:
    """The value at the path, None where it ends early."""
    try:
        return functools.reduce(operator.getitem, path, value)
    except (KeyError, IndexError, TypeError):
        return None


def dig_text(value: Any, *path: str | int) -> str:
    """The text at the path, "" where there is none."""
    found = dig(value, *path)
    return found if isinstance(found, str) else ""


def dig_count(value: Any, *path: str | int) -> int:
    """The count at the path, 0 where there is none."""
    found = dig(value, *path)
    return found if isinstance(found, int) and found > 0 else 0


def keeps_to(schema: Mapping[str, Any], text: str) -> bool:
    """Whether the text is a JSON object with every field that can be neither null nor an empty list."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    fields = schema.get("properties", {})
    needed = [name for name, field in fields.items() if "anyOf" not in field and field.get("type") != "array"]
    return isinstance(value, dict) and all(name in value for name in needed)


def with_schema_in_prompt(request: ModelRequest) -> tuple[Message, ...]:
    """The messages, the schema told in words at the end of the first, which is the system's."""
    schema = json.dumps(request.reply_schema, ensure_ascii=False)
    told = (
        f"Answer with one JSON object and nothing else: no Markdown, no text around it. It must match this JSON "
        f"schema, {request.reply_name}:\n{schema}"
    )
    first, *others = request.messages
    return (first.model_copy(update={"content": f"{first.content}\n\n{told}"}), *others)


def failure_of(error: Exception, code_of: Callable[[Any], str]) -> CallFailure:
    """What a client's error says. The `openai` and `anthropic` clients are made by one generator: same attributes."""
    response = getattr(error, "response", None)
    if response is None:
        return CallFailure(status=None, message=_innermost(error))
    body = getattr(error, "body", None)
    return CallFailure(
        status=response.status_code,
        message=dig_text(body, "message") or dig_text(body, "error", "message") or " ".join(response.text.split()),
        code=code_of(body),
        retry_after_s=parse_retry_after(response.headers, time.time()),
    )


async def read_streamed(response: Any) -> str | CallFailure:
    """The text of a streamed answer. Of a stream that breaks off it is what came by then: that was paid for."""
    text = ""
    try:
        async for part in response.aiter_text():
            text += part
    except Exception as error:  # noqa: BLE001 - the transport's own errors, which the clients wrap elsewhere only
        return text if is_stream(text) else CallFailure(status=None, message=_innermost(error))
    return text


def is_stream(text: str) -> bool:
    """Whether the text is one of events (Server-Sent Events), and no plain answer."""
    return text.lstrip("\ufeff\r\n :").startswith(("data:", "event:"))


def _innermost(error: BaseException) -> str:
    """The first cause's own words: a client says "Connection error." and keeps "Connection refused" underneath."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


# How many tokens a text takes, where no provider has counted them.

_CHARACTERS_A_TOKEN: Final = 4
_CALL_OVERHEAD_TOKENS: Final = 200  # the schema, and what providers put around messages


def estimated_input(request: ModelRequest) -> int:
    """The tokens of a question."""
    characters = sum(len(message.text) for message in request.messages)
    characters += sum(len(tool.model_dump_json()) for tool in request.tools)
    return characters // _CHARACTERS_A_TOKEN + _CALL_OVERHEAD_TOKENS


def usage_of_broken(told: Usage, said: str) -> Usage:
    """What a reply that broke off took: what its beginning told, and its output by what came of it."""
    return _estimated(told, output_tokens=max(0, len(said) // _CHARACTERS_A_TOKEN - told.output_tokens))


def with_input(usage: Usage, request: ModelRequest) -> Usage:
    """The usage with its input estimated, where nobody told that."""
    return usage if usage.input_tokens else _estimated(usage, input_tokens=estimated_input(request))


def _estimated(usage: Usage, **tokens: int) -> Usage:
    return usage + Usage(**tokens, estimated_tokens=sum(tokens.values()))


# The object in a model's reply, however it was wrapped. Pure, linear, and never a guess between two answers.

# A raw line break inside a string is the commonest slip of a model that writes code into JSON.
_DECODER = json.JSONDecoder(strict=False)
_MAX_STARTS = 64
_MAX_ENCODINGS = 3


def find_object(text: str, required: Collection[str]) -> dict[str, Any]:
    """The one JSON object that holds the `required` fields, or the only object there is.

    It may be fenced in Markdown, stand in prose, be encoded twice, or be wrapped: `{"solution": {...}}`.
    Raises ValueError, with what is wrong told to the model's face, when there is none or more than one.
    """
    text = _without_thoughts(text)
    if not text:
        raise ValueError("the reply is empty")
    whole = _decode_whole(text)
    objects = _objects_in(whole) if whole is not None else list(_objects_between(text))
    fitting = _distinct(found for candidate in objects for found in _unwrapped(candidate, required))
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise ValueError(f"the reply holds {len(fitting)} different JSON objects, where one is asked for")
    error = "" if whole is not None else _error_at_first_brace(text)
    if len(objects) == 1 and not error:
        return objects[0]
    raise ValueError(f"the reply holds no complete JSON object: {error or f'it begins {text[:60]!r}'}")


def _without_thoughts(text: str) -> str:
    """The text after a reasoning model's thoughts, which some servers leave in front of the answer."""
    text = text.strip().removeprefix("\ufeff")
    if text.startswith("<think>"):
        _, _, text = text.partition("</think>")
    return text.strip()


def _decode_whole(text: str) -> Any:
    """The value when the text is JSON from end to end, decoded again while it is JSON text in a JSON string."""
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
    """The candidate if it holds the fields, else what it wraps that does."""
    if all(name in candidate for name in required):
        return [candidate]
    inner = [_decode_whole(value) if isinstance(value, str) else value for value in candidate.values()]
    return [value for value in inner if isinstance(value, dict) and all(name in value for name in required)]


def _distinct(objects: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    distinct: list[dict[str, Any]] = []
    for found in objects:
        if found not in distinct:
            distinct.append(found)
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


# Calls of tools where the server has none: asked for, and read, as one JSON object in the text. Pure.

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
