"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import JsonValue

from flyteplugins_codegen.llm.endpoint import Endpoint, ProviderAddress, tls_context
from flyteplugins_codegen.llm.http_model import Body, BrokenStreamError
from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest, StopReason
from flyteplugins_codegen.llm.retries import CallFailure
from flyteplugins_codegen.llm.wire import (
    arguments_object,
    arguments_text,
    dict_or_empty,
    dig,
    dig_count,
    dig_text,
    parse_object,
    read_failure,
    read_streamed,
    usage_of_partial,
    with_schema_in_prompt,
)
from flyteplugins_codegen.models.spending import Message, Tool, ToolCall, Usage

ADDRESS = ProviderAddress(
    provider="anthropic",
    default="https://api.anthropic.com",
    base_variable="ANTHROPIC_BASE_URL",
    key_variable="ANTHROPIC_API_KEY",
)
DEFAULT_MAX_TOKENS = 16_384
_CONNECT_TIMEOUT_S = 10.0
_CACHE_MARK: JsonValue = {"type": "ephemeral"}
_TRANSIENT_ERRORS = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
_THOUGHTS = ("thinking", "redacted_thinking")
_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "complete",
    "stop_sequence": "complete",
    "tool_use": "complete",
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
    "refusal": "refused",
}


class Messages:
    """The dialect. Formats: structured output; a forced tool; the prompt alone."""

    formats = ("output_config", "tool", "prompt")

    @property
    def stream_options(self) -> Body:
        """See `Dialect`."""
        return {}

    def render_body(self, model_id: str, request: ModelRequest, reply_format: str) -> Body:
        """See `Dialect`."""
        in_prompt = reply_format == "prompt" and not request.tools
        messages = with_schema_in_prompt(request) if in_prompt else request.messages
        body: Body = {
            "model": model_id,
            "max_tokens": DEFAULT_MAX_TOKENS,
            "system": _system([message.content for message in messages if message.role == "system"]),
            "messages": _messages([message for message in messages if message.role != "system"]),
            **request.params,
        }
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        elif reply_format == "output_config":
            body["output_config"] = {**dict_or_empty(request.params.get("output_config")), "format": _format(request)}
        elif reply_format == "tool":
            body["tools"] = [{"name": request.reply_name, "input_schema": request.reply_schema}]
            body["tool_choice"] = {"type": "tool", "name": request.reply_name}
        return body

    async def post(self, endpoint: Endpoint, body: Body, timeout_s: float) -> str | CallFailure:
        """See `Dialect`."""
        import anthropic

        client = anthropic.AsyncAnthropic(
            api_key=endpoint.key.get_secret_value(),
            base_url=endpoint.address.removesuffix("/v1"),  # the client adds it itself
            max_retries=0,
            timeout=anthropic.Timeout(timeout_s, connect=_CONNECT_TIMEOUT_S),
            http_client=anthropic.DefaultAsyncHttpxClient(verify=tls_context()),
        )
        async with client:
            try:
                # By path, so that parameters that the client's version does not know are sent.
                if not body.get("stream"):
                    return await client.post("/v1/messages", cast_to=str, body=body)
                stream_type = anthropic.AsyncStream[str]
                streamed = await client.post(
                    "/v1/messages", cast_to=str, body=body, stream=True, stream_cls=stream_type
                )
                return await read_streamed(streamed.response)
            except anthropic.APIError as error:
                return read_failure(error, _code_of)

    def parse_reply(self, body: str) -> ModelReply:
        """See `Dialect`."""
        answer = parse_object(body)
        if not isinstance(answer.get("content"), list):
            raise ValueError(f"the answer holds no content: {body[:80]!r}")  # noqa: TRY004 - see `Dialect`
        return ModelReply(
            text="".join(dig_text(block, "text") for block in answer["content"]),
            stop_reason=_STOP_REASONS.get(dig_text(answer, "stop_reason"), "unknown"),
            usage=_usage(answer.get("usage")),
            model=dig_text(answer, "model"),
            tool_calls=tuple(_tool_calls(answer["content"])),
            thoughts=tuple(block for block in answer["content"] if dig_text(block, "type") in _THOUGHTS),
        )

    def gather(self, events: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """See `Dialect`."""
        message: dict[str, Any] = next((event["message"] for event in events if "message" in event), {})
        broken = usage_of_partial(_usage(message.get("usage")), _partial_text(events)) if message else None
        _raise_error(events, broken)
        last = next((event for event in reversed(events) if event.get("type") == "message_delta"), None)
        if last is None or not dig_text(last, "delta", "stop_reason"):
            raise BrokenStreamError(usage=broken)
        usage = {**(message.get("usage") or {}), **(last.get("usage") or {})}
        return {**message, **last["delta"], "content": _joined_blocks(events), "usage": usage}

    def is_elsewhere(self, failure: CallFailure) -> bool:
        """See `Dialect`. There is only one path."""
        del failure
        return False


def _partial_text(events: Sequence[dict[str, Any]]) -> str:
    names = ("text", "thinking", "partial_json")
    return "".join(dig_text(event, "delta", name) for event in events for name in names)


def _raise_error(events: Sequence[dict[str, Any]], broken: Usage | None) -> None:
    """Raise the error that a stream contains, if any: BrokenStreamError for a transient one, else ValueError."""
    for event in events:
        if event.get("type") == "error":
            message = dig_text(event, "error", "message") or str(event.get("error"))
            is_transient = dig_text(event, "error", "type") in _TRANSIENT_ERRORS
            raise BrokenStreamError(message, broken) if is_transient else ValueError(message)


def _joined_blocks(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks of the content, each joined from its pieces."""
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        index = dig_count(event, "index")
        if event.get("type") == "content_block_start":
            blocks[index] = dict(event["content_block"])
        elif event.get("type") == "content_block_delta" and index in blocks:
            _append_delta(blocks[index], event.get("delta"))
    return list(blocks.values())


def _append_delta(block: dict[str, Any], delta: Any) -> None:
    for name in ("text", "thinking", "signature"):
        if dig_text(delta, name):
            block[name] = dig_text(block, name) + dig_text(delta, name)
    piece = dig_text(delta, "partial_json")
    if piece:  # kept as text, because it may be cut off
        block["input"] = (block["input"] if isinstance(block["input"], str) else "") + piece


def _system(texts: list[str]) -> JsonValue:
    """The stable beginning of the conversation, marked for the provider's cache."""
    return [{"type": "text", "text": "\n\n".join(texts), "cache_control": _CACHE_MARK}]


def _format(request: ModelRequest) -> JsonValue:
    import anthropic

    return {"type": "json_schema", "schema": anthropic.transform_schema(dict(request.reply_schema))}


def _tool(tool: Tool) -> JsonValue:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _messages(messages: Sequence[Message]) -> list[JsonValue]:
    """The messages; if the last one has tool results, the conversation up to it is marked for the provider's cache."""
    rendered: list[JsonValue] = [{"role": message.role, "content": _content(message)} for message in messages]
    last = dig(rendered, -1, "content", -1)
    if isinstance(last, dict) and messages[-1].tool_results:
        last["cache_control"] = _CACHE_MARK
    return rendered


def _shared_first(message: Message) -> JsonValue:
    """The content as two blocks: the part shared with other calls, marked for the provider's cache, and the rest."""
    shared, rest = message.content[: message.shared_chars], message.content[message.shared_chars :]
    first: JsonValue = {"type": "text", "text": shared, "cache_control": _CACHE_MARK}
    return [first, {"type": "text", "text": rest}] if rest.strip() else [first]


def _content(message: Message) -> JsonValue:
    if message.shared_chars:
        return _shared_first(message)
    if not (message.tool_calls or message.tool_results):
        return message.content
    blocks: list[JsonValue] = list(message.thoughts)
    blocks += [
        {"type": "tool_result", "tool_use_id": result.call_id, "content": result.content, "is_error": result.is_error}
        for result in message.tool_results
    ]
    if message.content.strip():
        blocks.append({"type": "text", "text": message.content})
    for call in message.tool_calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments_object(call)})
    return blocks


def _tool_calls(content: Sequence[Any]) -> Iterator[ToolCall]:
    for block in content:
        if dig_text(block, "type") == "tool_use":
            arguments = arguments_text(dig(block, "input"))
            yield ToolCall(id=dig_text(block, "id"), name=dig_text(block, "name"), arguments=arguments)


def _usage(usage: Any) -> Usage:
    """The usage. This provider's `input_tokens` leave out those read from or written to its cache; they are added."""
    cached = dig_count(usage, "cache_read_input_tokens")
    written = dig_count(usage, "cache_creation_input_tokens")
    return Usage(
        input_tokens=dig_count(usage, "input_tokens") + cached + written,
        output_tokens=dig_count(usage, "output_tokens"),
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=dig_count(usage, "output_tokens_details", "thinking_tokens"),
    )


def _code_of(body: Any) -> str:
    return dig_text(body, "error", "type")
