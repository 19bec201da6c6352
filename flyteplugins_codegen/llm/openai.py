"""OpenAI's Chat Completions, which Ollama, vLLM, llama.cpp, LM Studio and most gateways speak as well."""

from __future__ import annotations

from typing import Any

from flyteplugins_codegen.llm.endpoint import Endpoint, ProviderAddress
from flyteplugins_codegen.llm.hosted import Body
from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest, StopReason
from flyteplugins_codegen.llm.retries import CallFailure
from flyteplugins_codegen.llm.tls import tls_context
from flyteplugins_codegen.llm.wire import (
    dig,
    dig_count,
    dig_text,
    failure_of,
    parse_object,
    with_schema_in_prompt,
)
from flyteplugins_codegen.models.conversation import Usage

ADDRESS = ProviderAddress(
    provider="openai",
    default="https://api.openai.com/v1",
    base_variable="OPENAI_BASE_URL",
    key_variable="OPENAI_API_KEY",
)
_CONNECT_TIMEOUT_S = 10.0
_STOP_REASONS: dict[str, StopReason] = {
    "stop": "complete",
    "tool_calls": "complete",
    "length": "truncated",
    "content_filter": "filtered",
}


class ChatCompletions:
    """The dialect. Formats: a strict schema; any JSON object, the schema being in the prompt; the prompt alone."""

    formats = ("json_schema", "json_object", "prompt")

    def render_body(self, model_id: str, request: ModelRequest, reply_format: str) -> Body:
        """See `Dialect`."""
        messages = request.messages if reply_format == "json_schema" else with_schema_in_prompt(request)
        body: Body = {"model": model_id, "messages": [message.model_dump(mode="json") for message in messages]}
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
                # By path, so that a parameter which only this server knows passes. Besides, the first touch of
                # `client.chat` imports the types of the whole API, which takes 0.15 s.
                return await client.post("/chat/completions", cast_to=str, body=body)
            except openai.APIError as error:
                return failure_of(error, _code_of)

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
        )


def _content(content: Any) -> str:
    """The text, which some servers send in parts."""
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
