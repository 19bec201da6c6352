"""OpenAI's Responses API, the only one of some of its models; nothing is stored on the server.

https://platform.openai.com/docs/api-reference/responses
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import JsonValue

from flyteplugins_codegen.llm.endpoint import Endpoint
from flyteplugins_codegen.llm.http_model import Body, BrokenStreamError
from flyteplugins_codegen.llm.openai import plain_message, post_by_path
from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest, StopReason
from flyteplugins_codegen.llm.retries import CallFailure
from flyteplugins_codegen.llm.wire import (
    arguments_json,
    arguments_text,
    dict_or_empty,
    dig,
    dig_count,
    dig_text,
    parse_object,
    usage_of_partial,
    with_schema_in_prompt,
)
from flyteplugins_codegen.models.spending import Message, ToolCall, Usage

_NO_SUCH_PATH = (404, 405, 501)
_ENDS = ("response.completed", "response.incomplete", "response.failed")
# Parameters by their names in Chat Completions.
_LENGTHS = ("max_tokens", "max_completion_tokens")
_NESTED = {"reasoning_effort": ("reasoning", "effort"), "verbosity": ("text", "verbosity")}


class Responses:
    """The dialect. Its formats are those of `ChatCompletions`."""

    formats = ("json_schema", "json_object", "prompt")

    @property
    def stream_options(self) -> Body:
        """See `Dialect`."""
        return {}

    def render_body(self, model_id: str, request: ModelRequest, reply_format: str) -> Body:
        """See `Dialect`."""
        messages = (
            request.messages if reply_format == "json_schema" or request.tools else with_schema_in_prompt(request)
        )
        params = _renamed(request.params)
        text = params.pop("text", None)
        items: list[JsonValue] = [item for message in messages for item in _items(message)]
        body: Body = {"model": model_id, "input": items, "store": False}
        if request.tools:
            body["tools"] = [{"type": "function", "strict": False, **tool.model_dump()} for tool in request.tools]
        text = {**dict_or_empty(text), **_format(request, reply_format)}
        return {**body, **({"text": text} if text else {}), **params}

    async def post(self, endpoint: Endpoint, body: Body, timeout_s: float) -> str | CallFailure:
        """See `Dialect`."""
        return await post_by_path("/responses", endpoint, body, timeout_s)

    def parse_reply(self, body: str) -> ModelReply:
        """See `Dialect`."""
        answer = parse_object(body)
        output = answer.get("output")
        if not isinstance(output, list):
            raise ValueError(f"the answer holds no output: {body[:80]!r}")  # noqa: TRY004 - see `Dialect`
        parts = [part for item in output for part in _parts(item)]
        refusal = "".join(dig_text(part, "refusal") for part in parts)
        return ModelReply(
            text=refusal or "".join(dig_text(part, "text") for part in parts),
            stop_reason="refused" if refusal else _stop_reason(answer),
            usage=_usage(answer.get("usage")),
            model=dig_text(answer, "model"),
            tool_calls=tuple(_tool_calls(output)),
        )

    def gather(self, events: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """See `Dialect`. The last event contains the whole answer."""
        for event in events:
            if event.get("type") in _ENDS and isinstance(event.get("response"), dict):
                return dict(event["response"])
        partial = "".join(dig_text(event, "delta") for event in events)
        raise BrokenStreamError(usage=usage_of_partial(Usage(), partial) if events else None)

    def is_elsewhere(self, failure: CallFailure) -> bool:
        """See `Dialect`. Most servers other than OpenAI's own do not have this path."""
        return failure.status in _NO_SUCH_PATH and failure.code != "model_not_found"


def _renamed(params: dict[str, JsonValue]) -> dict[str, JsonValue]:
    renamed: dict[str, JsonValue] = {}
    for name, value in params.items():
        if name in _LENGTHS:
            renamed["max_output_tokens"] = value
        elif name in _NESTED:
            outer, inner = _NESTED[name]
            renamed[outer] = {**dict_or_empty(renamed.get(outer, params.get(outer))), inner: value}
        else:
            renamed.setdefault(name, value)
    return renamed


def _format(request: ModelRequest, reply_format: str) -> dict[str, JsonValue]:
    if reply_format == "prompt" or request.tools:
        return {}
    if reply_format == "json_object":
        return {"format": {"type": "json_object"}}
    schema: JsonValue = {
        "type": "json_schema",
        "name": request.reply_name,
        "strict": True,
        "schema": request.reply_schema,
    }
    return {"format": schema}


def _items(message: Message) -> Iterator[Body]:
    """The message in the form of this API: calls and results are items of their own."""
    for result in message.tool_results:
        yield {"type": "function_call_output", "call_id": result.call_id, "output": result.content}
    if message.content or not (message.tool_results or message.tool_calls):
        yield plain_message(message)
    for call in message.tool_calls:
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments_json(call)}


def _tool_calls(output: Sequence[Any]) -> Iterator[ToolCall]:
    for item in output:
        if dig_text(item, "type") == "function_call":
            arguments = arguments_text(dig(item, "arguments"))
            yield ToolCall(id=dig_text(item, "call_id"), name=dig_text(item, "name"), arguments=arguments)


def _parts(item: Any) -> list[Any]:
    content = dig(item, "content")
    return content if dig_text(item, "type") == "message" and isinstance(content, list) else []


def _stop_reason(answer: dict[str, Any]) -> StopReason:
    status, reason = dig_text(answer, "status"), dig_text(answer, "incomplete_details", "reason")
    if status == "incomplete":
        return "filtered" if reason == "content_filter" else "truncated"
    return "complete" if status == "completed" else "unknown"


def _usage(usage: Any) -> Usage:
    return Usage(
        input_tokens=dig_count(usage, "input_tokens"),
        output_tokens=dig_count(usage, "output_tokens"),
        cached_tokens=dig_count(usage, "input_tokens_details", "cached_tokens"),
        reasoning_tokens=dig_count(usage, "output_tokens_details", "reasoning_tokens"),
    )
