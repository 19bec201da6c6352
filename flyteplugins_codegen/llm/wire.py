"""The JSON and the streams that providers send, read leniently: every server leaves out some of the fields."""

from __future__ import annotations

import functools
import json
import operator
import time
from collections.abc import Callable
from typing import Any, Final

from pydantic import JsonValue

from flyteplugins_codegen.llm.protocol import ModelRequest
from flyteplugins_codegen.llm.retries import CallFailure, parse_retry_after
from flyteplugins_codegen.models.spending import Message, ToolCall, Usage

_CHARACTERS_A_TOKEN: Final = 4
_CALL_OVERHEAD_TOKENS: Final = 200  # the schema, and what providers add to messages


def parse_object(body: str) -> dict[str, Any]:
    """The answer as a JSON object. Raises ValueError where it is none, and for an error that came with status 200."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError(f"the answer begins {body[:80]!r}")  # noqa: TRY004 - one error for every unreadable answer
    if value.get("error"):
        raise ValueError(dig_text(value, "error", "message") or str(value["error"]))
    return value


def dig(value: Any, *path: str | int) -> Any:
    """The value at the path, None where the path does not exist."""
    try:
        return functools.reduce(operator.getitem, path, value)
    except (KeyError, IndexError, TypeError):
        return None


def dig_text(value: Any, *path: str | int) -> str:
    """The text at the path, "" where there is none."""
    text = dig(value, *path)
    return text if isinstance(text, str) else ""


def dig_count(value: Any, *path: str | int) -> int:
    """The count at the path, 0 where there is none."""
    count = dig(value, *path)
    return count if isinstance(count, int) and count > 0 else 0


def dict_or_empty(value: JsonValue) -> dict[str, JsonValue]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def with_schema_in_prompt(request: ModelRequest) -> tuple[Message, ...]:
    """The messages with the schema at the end of the first, which is the system message."""
    schema = json.dumps(request.reply_schema, ensure_ascii=False)
    instruction = (
        f"Answer with one JSON object and nothing else: no Markdown, no text around it. It must match this JSON "
        f"schema, {request.reply_name}:\n{schema}"
    )
    first, *others = request.messages
    return (first.model_copy(update={"content": f"{first.content}\n\n{instruction}"}), *others)


def read_failure(error: Exception, code_of: Callable[[Any], str]) -> CallFailure:
    """The failure in a client's error; the `openai` and `anthropic` clients are generated, with equal attributes."""
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
    """The text of a streamed answer, also of one that breaks off, because what arrived was paid for."""
    text = ""
    try:
        async for part in response.aiter_text():
            text += part
    except Exception as error:  # noqa: BLE001 - the transport's own errors, which the clients wrap only elsewhere
        return text if is_stream(text) else CallFailure(status=None, message=_innermost(error))
    return text


def is_stream(text: str) -> bool:
    """Whether the text is a stream of events (Server-Sent Events), and no plain answer."""
    return text.lstrip("\ufeff\r\n :").startswith(("data:", "event:"))


def _innermost(error: BaseException) -> str:
    """The message of the first cause: a client says "Connection error.", and its cause "Connection refused"."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def arguments_text(value: Any) -> str:
    """The arguments of a call as text; some servers send an object instead."""
    return value if isinstance(value, str) else json.dumps({} if value is None else value, ensure_ascii=False)


def arguments_json(call: ToolCall) -> str:
    """The arguments as valid JSON: servers parse them again for the model's template, and fail where they cannot."""
    return json.dumps(arguments_object(call), ensure_ascii=False)


def arguments_object(call: ToolCall) -> dict[str, JsonValue]:
    """The arguments as an object, an empty one where they are none; the call's result reports the error."""
    try:
        value = json.loads(call.arguments)
        # Without lone surrogates, which JSON can contain but a request cannot.
        value = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def estimated_input(request: ModelRequest) -> int:
    """An estimate of the tokens of a request."""
    characters = sum(len(message.text) for message in request.messages)
    characters += sum(len(tool.model_dump_json()) for tool in request.tools)
    return characters // _CHARACTERS_A_TOKEN + _CALL_OVERHEAD_TOKENS


def usage_of_partial(reported: Usage, text: str) -> Usage:
    """The usage of a reply that broke off: what its beginning reported, and its output estimated from its text."""
    return _estimated(reported, output_tokens=max(0, len(text) // _CHARACTERS_A_TOKEN - reported.output_tokens))


def with_estimated_input(usage: Usage, request: ModelRequest) -> Usage:
    """The usage, with its input estimated if it was not reported."""
    return usage if usage.input_tokens else _estimated(usage, input_tokens=estimated_input(request))


def _estimated(usage: Usage, **tokens: int) -> Usage:
    return usage + Usage(**tokens, estimated_tokens=sum(tokens.values()))
