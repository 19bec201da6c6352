"""OpenAI's Chat Completions API, which Ollama, vLLM, llama.cpp, LM Studio and most gateways implement too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import JsonValue

from flyteplugins_codegen.llm.endpoint import Endpoint, ProviderAddress, tls_context
from flyteplugins_codegen.llm.http_model import Body, BrokenStreamError
from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest, StopReason
from flyteplugins_codegen.llm.retries import CallFailure
from flyteplugins_codegen.llm.wire import (
    arguments_json,
    arguments_text,
    dig,
    dig_count,
    dig_text,
    parse_object,
    read_failure,
    read_streamed,
    usage_of_partial,
    with_schema_in_prompt,
)
from flyteplugins_codegen.models.spending import Message, ToolCall, Usage

ADDRESS = ProviderAddress(
    provider="openai",
    default="https://api.openai.com/v1",
    base_variable="OPENAI_BASE_URL",
    key_variable="OPENAI_API_KEY",
)
_CONNECT_TIMEOUT_S = 10.0
_TRANSIENT_ERRORS = frozenset({"server_error", "rate_limit_exceeded", "overloaded", "timeout"})
_STOP_REASONS: dict[str, StopReason] = {
    "stop": "complete",
    "tool_calls": "complete",
    "length": "truncated",
    "content_filter": "filtered",
}


class ChatCompletions:
    """The dialect. Formats: a strict schema; any JSON object, with the schema in the prompt; the prompt alone."""

    formats = ("json_schema", "json_object", "prompt")

    @property
    def stream_options(self) -> Body:
        """See `Dialect`."""
        return {"stream_options": {"include_usage": True}}

    def render_body(self, model_id: str, request: ModelRequest, reply_format: str) -> Body:
        """See `Dialect`."""
        if request.tools:
            return {**_with_tools(model_id, request), **request.params}
        messages = request.messages if reply_format == "json_schema" else with_schema_in_prompt(request)
        body: Body = {"model": model_id, "messages": [plain_message(message) for message in messages]}
        if reply_format == "json_schema":
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": request.reply_name, "strict": True, "schema": request.reply_schema},
            }
        elif reply_format == "json_object":
            body["response_format"] = {"type": "json_object"}
        return {**body, **request.params}

    async def post(self, endpoint: Endpoint, body: Body, timeout_s: float) -> str | CallFailure:
        """See `Dialect`."""
        return await post_by_path("/chat/completions", endpoint, body, timeout_s)

    def parse_reply(self, body: str) -> ModelReply:
        """See `Dialect`."""
        answer = parse_object(body)
        choice = dig(answer, "choices", 0)
        if not isinstance(choice, dict):
            raise ValueError(f"the answer holds no choices: {body[:80]!r}")  # noqa: TRY004 - see `Dialect`
        refusal = dig_text(choice, "message", "refusal")
        return ModelReply(
            text=refusal or _content(dig(choice, "message", "content")),
            stop_reason="refused" if refusal else _STOP_REASONS.get(dig_text(choice, "finish_reason"), "unknown"),
            usage=_usage(dig(answer, "usage")),
            model=dig_text(answer, "model"),
            tool_calls=tuple(_tool_calls(dig(choice, "message", "tool_calls"))),
        )

    def gather(self, events: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """See `Dialect`."""
        choices = [dig(event, "choices", 0) for event in events]
        deltas = [dig(choice, "delta") for choice in choices]
        broken = usage_of_partial(Usage(), "".join(map(_delta_text, deltas))) if events else None
        _raise_error(events, broken)
        reasons = [dig_text(choice, "finish_reason") for choice in choices if dig_text(choice, "finish_reason")]
        if not reasons:
            raise BrokenStreamError(usage=broken)
        message = {
            "content": "".join(dig_text(delta, "content") for delta in deltas),
            "refusal": "".join(dig_text(delta, "refusal") for delta in deltas),
            "tool_calls": _joined_calls(deltas),
        }
        return {
            "model": next((dig_text(event, "model") for event in events if dig_text(event, "model")), ""),
            "choices": [{"message": message, "finish_reason": reasons[-1]}],
            "usage": next((event["usage"] for event in reversed(events) if event.get("usage")), None),
        }

    def is_elsewhere(self, failure: CallFailure) -> bool:
        """See `Dialect`. OpenAI's error names the path of a model that has another one."""
        return failure.status in (400, 404) and "v1/responses" in failure.message


def plain_message(message: Message) -> Body:
    """The body of a message that is only text."""
    return {"role": message.role, "content": message.content}


def _with_tools(model_id: str, request: ModelRequest) -> Body:
    tools: list[JsonValue] = [{"type": "function", "function": tool.model_dump(mode="json")} for tool in request.tools]
    messages: list[JsonValue] = [rendered for message in request.messages for rendered in _messages(message)]
    return {"model": model_id, "messages": messages, "tools": tools}


def _messages(message: Message) -> Iterator[Body]:
    """The message in the form of this API: each tool result is a message of its own, before the user's text."""
    for result in message.tool_results:
        yield {"role": "tool", "tool_call_id": result.call_id, "content": result.content}
    if message.tool_calls:
        calls: list[JsonValue] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_json(call)}}
            for call in message.tool_calls
        ]
        yield {"role": message.role, "content": message.content or None, "tool_calls": calls}
    elif message.content or not message.tool_results:
        yield plain_message(message)


def _tool_calls(calls: Any) -> Iterator[ToolCall]:
    for call in calls if isinstance(calls, list) else []:
        yield ToolCall(
            id=dig_text(call, "id"),
            name=dig_text(call, "function", "name"),
            arguments=arguments_text(dig(call, "function", "arguments")),
        )


def _joined_calls(deltas: Sequence[Any]) -> list[dict[str, Any]]:
    """The calls, each joined from its pieces by their index, or by a new id where a server counts none."""
    calls: dict[tuple[int, str], dict[str, Any]] = {}
    for piece in (piece for delta in deltas for piece in dig(delta, "tool_calls") or []):
        index, identity = dig_count(piece, "index"), dig_text(piece, "id")
        earlier = [key for key in calls if key[0] == index]
        key = (index, identity) if identity or not earlier else earlier[-1]
        call = calls.setdefault(key, {"id": identity, "function": {"name": "", "arguments": ""}})
        call["function"]["name"] = call["function"]["name"] or dig_text(piece, "function", "name")
        call["function"]["arguments"] += _piece(dig(piece, "function", "arguments"))
    return list(calls.values())


def _piece(arguments: Any) -> str:
    return "" if arguments is None else arguments_text(arguments)


async def post_by_path(path: str, endpoint: Endpoint, body: Body, timeout_s: float) -> str | CallFailure:
    """Send a body once through OpenAI's client and return the raw answer."""
    import openai

    client = openai.AsyncOpenAI(
        api_key=endpoint.key.get_secret_value(),
        base_url=endpoint.address,
        max_retries=0,
        timeout=openai.Timeout(timeout_s, connect=_CONNECT_TIMEOUT_S),
        http_client=openai.DefaultAsyncHttpxClient(verify=tls_context()),
    )
    async with client:
        try:
            # By path, so that parameters that only this server knows are sent. Besides, the first use of
            # `client.chat` imports the types of the whole API, which takes 0.15 s.
            if not body.get("stream"):
                return await client.post(path, cast_to=str, body=body)
            stream_type = openai.AsyncStream[str]
            streamed = await client.post(path, cast_to=str, body=body, stream=True, stream_cls=stream_type)
            return await read_streamed(streamed.response)
        except openai.APIError as error:
            return read_failure(error, _code_of)


def _content(content: Any) -> str:
    """The text of a message; some servers send it in parts."""
    if isinstance(content, list):
        return "".join(dig_text(part, "text") for part in content)
    return content if isinstance(content, str) else ""


def _usage(usage: Any) -> Usage:
    return Usage(
        input_tokens=dig_count(usage, "prompt_tokens"),
        output_tokens=dig_count(usage, "completion_tokens"),
        cached_tokens=dig_count(usage, "prompt_tokens_details", "cached_tokens"),
        reasoning_tokens=dig_count(usage, "completion_tokens_details", "reasoning_tokens"),
    )


def _code_of(body: Any) -> str:
    return dig_text(body, "code") or dig_text(body, "error", "code") or dig_text(body, "type")


def _delta_text(delta: Any) -> str:
    pieces = [dig(piece, "function", "arguments") for piece in dig(delta, "tool_calls") or []]
    return "".join([dig_text(delta, "content"), dig_text(delta, "refusal"), *map(_piece, pieces)])


def _raise_error(events: Sequence[dict[str, Any]], broken: Usage | None) -> None:
    """Raise the error that a stream contains, if any: BrokenStreamError for a transient one, else ValueError."""
    for event in events:
        if event.get("error"):
            kinds = {dig_text(event, "error", "type"), dig_text(event, "error", "code")}
            message = dig_text(event, "error", "message") or str(event["error"])
            raise BrokenStreamError(message, broken) if kinds & _TRANSIENT_ERRORS else ValueError(message)
