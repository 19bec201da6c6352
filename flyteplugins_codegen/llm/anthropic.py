"""Anthropic's Messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from flyteplugins_codegen.llm.endpoint import Endpoint, ProviderAddress
from flyteplugins_codegen.llm.hosted import Body, SilentEndError
from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest, StopReason
from flyteplugins_codegen.llm.retries import CallFailure
from flyteplugins_codegen.llm.tls import tls_context
from flyteplugins_codegen.llm.wire import dig, dig_count, dig_text, failure_of, parse_object, with_schema_in_prompt
from flyteplugins_codegen.models.conversation import Usage

ADDRESS = ProviderAddress(
    provider="anthropic",
    default="https://api.anthropic.com",
    base_variable="ANTHROPIC_BASE_URL",
    key_variable="ANTHROPIC_API_KEY",
)
DEFAULT_MAX_TOKENS = 16_384
_CONNECT_TIMEOUT_S = 10.0
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
        messages = with_schema_in_prompt(request) if reply_format == "prompt" else request.messages
        body: Body = {
            "model": model_id,
            "max_tokens": DEFAULT_MAX_TOKENS,
            "system": _system([message.content for message in messages if message.role == "system"]),
            "messages": [message.model_dump(mode="json") for message in messages if message.role != "system"],
            **request.params,
        }
        if reply_format == "output_config":
            body["output_config"] = {**_as_dict(request.params.get("output_config")), "format": _format(request)}
        elif reply_format == "tool":
            body["tools"] = [{"name": request.reply_name, "input_schema": request.reply_schema}]
            body["tool_choice"] = {"type": "tool", "name": request.reply_name}
        return body

    async def post(self, endpoint: Endpoint, body: Body, timeout_s: float) -> str | CallFailure:
        """See `Dialect`."""
        import anthropic

        client = anthropic.AsyncAnthropic(
            api_key=endpoint.key.get_secret_value(),
            base_url=endpoint.address.removesuffix("/v1"),  # which this client adds itself
            max_retries=0,
            timeout=anthropic.Timeout(timeout_s, connect=_CONNECT_TIMEOUT_S),
            http_client=anthropic.DefaultAsyncHttpxClient(verify=tls_context()),
        )
        async with client:
            try:
                # By path, so that a parameter which the client's version does not know passes.
                return await client.post("/v1/messages", cast_to=str, body=body)
            except anthropic.APIError as error:
                return failure_of(error, _code_of)

    def parse_reply(self, body: str) -> ModelReply:
        """See `Dialect`."""
        answer = parse_object(body)
        if not isinstance(answer.get("content"), list):
            raise ValueError(f"the answer holds no content: {body[:80]!r}")  # noqa: TRY004 - see `Dialect`
        return ModelReply(
            text="".join(_text(block) for block in answer["content"]),
            stop_reason=_STOP_REASONS.get(dig_text(answer, "stop_reason"), "unknown"),
            usage=_usage(answer.get("usage")),
            model=dig_text(answer, "model"),
        )

    def gather(self, events: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """See `Dialect`."""
        if any(event.get("type") == "error" for event in events):
            raise SilentEndError  # the provider is overloaded: what came before is no answer
        message: dict[str, Any] = next((event["message"] for event in events if "message" in event), {})
        last = next((event for event in reversed(events) if event.get("type") == "message_delta"), None)
        if last is None or not dig_text(last, "delta", "stop_reason"):
            raise SilentEndError
        usage = {**(message.get("usage") or {}), **(last.get("usage") or {})}
        return {**message, **last["delta"], "content": _gathered(events), "usage": usage}

    def is_elsewhere(self, failure: CallFailure) -> bool:
        """See `Dialect`: there is one path."""
        del failure
        return False


def _gathered(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks of the content, each put together from its pieces."""
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        index = dig_count(event, "index")
        if event.get("type") == "content_block_start":
            blocks[index] = {**event["content_block"], "pieces": ""}
        elif event.get("type") == "content_block_delta" and index in blocks:
            blocks[index]["pieces"] += dig_text(event, "delta", "text") + dig_text(event, "delta", "partial_json")
    return [_whole(block) for block in blocks.values()]


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    if block.get("type") == "tool_use":
        return {"type": "text", "text": block["pieces"]}  # the tool's input as JSON, which is the reply
    return {**block, "text": block.get("text", "") + block["pieces"]}


def _system(texts: list[str]) -> JsonValue:
    """The stable prefix of the conversation, marked for the provider's cache."""
    return [{"type": "text", "text": "\n\n".join(texts), "cache_control": {"type": "ephemeral"}}]


def _format(request: ModelRequest) -> JsonValue:
    import anthropic

    return {"type": "json_schema", "schema": anthropic.transform_schema(dict(request.reply_schema))}


def _as_dict(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _text(block: Any) -> str:
    """What a block adds to the reply: its text, or a forced tool's input; nothing for the model's thoughts."""
    if dig_text(block, "type") == "tool_use":
        return json.dumps(dig(block, "input"), ensure_ascii=False)
    return dig_text(block, "text")


def _usage(usage: Any) -> Usage:
    """`input_tokens` of this provider leaves out what was read from or written to its cache: added in again here."""
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
