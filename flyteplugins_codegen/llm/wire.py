"""Reading what servers send, of which some fields are always missing somewhere."""

from __future__ import annotations

import functools
import json
import operator
import time
from collections.abc import Callable, Mapping
from typing import Any

from flyteplugins_codegen.llm.protocol import ModelRequest
from flyteplugins_codegen.llm.retries import CallFailure, parse_retry_after
from flyteplugins_codegen.models.conversation import Message


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
