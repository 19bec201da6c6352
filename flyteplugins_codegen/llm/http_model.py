"""A model behind a provider's HTTP API: deadline, retries, formats and errors, the same for every provider.

The differences between providers are in a `Dialect`: how a request is written and sent, and how its reply is read.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import re
from collections.abc import Iterator
from typing import Any, Protocol
from urllib.parse import urlsplit

from pydantic import JsonValue

from flyteplugins_codegen.errors import DeadlineError, ProviderError
from flyteplugins_codegen.llm.concurrency import ConcurrencyLimit
from flyteplugins_codegen.llm.endpoint import Endpoint
from flyteplugins_codegen.llm.json_reply import has_required_fields, with_tool_calls, without_tools
from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest
from flyteplugins_codegen.llm.retries import CallFailure, RetryPolicy, retry
from flyteplugins_codegen.llm.wire import is_stream, with_estimated_input
from flyteplugins_codegen.models.spending import Usage
from flyteplugins_codegen.telemetry import AttributeValue, span

Body = dict[str, JsonValue]

_MESSAGE_CHARS = 300
_MAX_CONCURRENT_CALLS = 16
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can contain a lone one, UTF-8 cannot
_STREAM_REFUSED = (400, 422)
_FORMAT_WORDS = (
    "response_format",
    "json_schema",
    "json_object",
    "output_config",
    "output_format",
    "schema",
    "structured output",
    "grammar",
    "tools",
    "tool_choice",
)
_TOOLLESS_STATUSES = (400, 404, 405, 422, 500, 501)


class BrokenStreamError(ValueError):
    """A stream ended without its last event, or with a transient error: the same request may succeed later.

    `usage` is what the reply took until then, None where it had not begun.
    """

    def __init__(self, message: str = "", usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage


class Dialect(Protocol):
    """One provider's API. `formats` are its ways of asking for JSON, the strictest first."""

    @property
    def formats(self) -> tuple[str, ...]:
        """The values of `reply_format` that `render_body` accepts."""
        ...

    @property
    def stream_options(self) -> Body:
        """What a body that asks for a stream contains besides `stream`, so that the stream reports the usage."""
        ...

    def render_body(self, model_id: str, request: ModelRequest, reply_format: str) -> Body:
        """The body of the request, as the provider's API takes it."""
        ...

    async def post(self, endpoint: Endpoint, body: Body, timeout_s: float) -> str | CallFailure:
        """Send the body once through the provider's client, without the client's retries; returns the raw answer."""
        ...

    def parse_reply(self, body: str) -> ModelReply:
        """Read the answer. Raises ValueError for a text that is no reply of this provider."""
        ...

    def gather(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        """Join a stream's events to the object that an answer without streaming would be.

        Raises BrokenStreamError where the end is missing; ValueError for an error that was sent as an event.
        """
        ...

    def is_elsewhere(self, failure: CallFailure) -> bool:
        """Whether the failure says that this server, or this model, needs another dialect."""
        ...


@dataclasses.dataclass
class ServerCapabilities:
    """What the failures of a server have shown so far: the first dialect and format that it takes, and its tools."""

    dialect_index: int = 0
    format_index: int = 0
    has_tools: bool = True


@functools.cache
def known_capabilities(endpoint: str, *settings: object) -> ServerCapabilities:
    """The capabilities that this process knows of an endpoint, shared so that a later stage does not try again."""
    del endpoint, settings
    return ServerCapabilities()


class HttpModel:
    """A model of one provider at one endpoint. Keeps no connection and no event loop: each call opens a client."""

    def __init__(
        self,
        endpoint: Endpoint,
        *dialects: Dialect,
        retries: RetryPolicy | None = None,
        concurrency: ConcurrencyLimit | None = None,
        capabilities: ServerCapabilities | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._dialects = dialects
        self._retries = retries or RetryPolicy()
        self._concurrency = concurrency or ConcurrencyLimit(_MAX_CONCURRENT_CALLS)
        self._capabilities = capabilities or ServerCapabilities()

    def __repr__(self) -> str:
        return f"HostedModel({self.endpoint})"

    @property
    def name(self) -> str:
        """`provider/model`, as in the settings."""
        return f"{self.endpoint.provider}/{self.endpoint.model_id}"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model`."""
        with span(f"chat {self.endpoint.model_id}", _call_attributes(self.endpoint), is_call=True) as traced:
            reply = await self._complete(request)
            traced.set_attributes(_reply_attributes(reply))
            return reply

    async def _complete(self, request: ModelRequest) -> ModelReply:
        broken: list[Usage] = []
        try:
            outcome = await asyncio.wait_for(self._ask(request, broken), request.deadline_s)
        except asyncio.TimeoutError:
            outcome = None
        lost = sum(broken, Usage())
        # Raised outside of `except`: the client's error holds the request's headers and must not be its context.
        if outcome is None:
            message = f"{self.endpoint}: no complete reply within {request.deadline_s:g} s ({request.purpose})"
            raise DeadlineError(message, usage=lost)
        if isinstance(outcome, CallFailure):
            raise self._error(outcome, lost)
        return outcome.model_copy(update={"usage": lost + outcome.usage})

    async def _ask(self, request: ModelRequest, broken: list[Usage]) -> ModelReply | CallFailure:
        """The reply, or the failure. The usage of each reply that broke off is added to `broken`."""
        while True:
            known = self._capabilities
            dialect, index = self._dialects[known.dialect_index], known.format_index
            sent = without_tools(request) if request.tools and not known.has_tools else request
            body = dialect.render_body(self.endpoint.model_id, sent, dialect.formats[index])

            async def send() -> ModelReply | CallFailure:
                outcome = await self._send(dialect, body, request.deadline_s)  # noqa: B023 - awaited in this round
                if isinstance(outcome, CallFailure) and outcome.usage is not None:
                    broken.append(with_estimated_input(outcome.usage, request))
                return outcome

            outcome = await retry(send, self._retries, request.deadline_s)
            if isinstance(outcome, ModelReply):
                return _with_tools(self._reply_text(outcome, sent, index), request)
            if not (self._use_next_dialect(dialect, outcome) or self._do_without(sent, outcome, index)):
                return outcome

    async def _send(self, dialect: Dialect, body: Body, timeout_s: float) -> ModelReply | CallFailure:
        """Ask once. A stream without its end counts as a broken connection."""
        async with self._concurrency:
            answer = await dialect.post(self.endpoint, body, timeout_s)
        if isinstance(answer, CallFailure):
            return answer
        try:
            return dialect.parse_reply(answer)
        except BrokenStreamError as error:
            message = str(error) or "the stream ended in the middle of the reply"
            return CallFailure(status=None, message=message, usage=error.usage)
        except ValueError as error:
            return CallFailure(status=200, message=str(error), code="unreadable")

    def _reply_text(self, reply: ModelReply, request: ModelRequest, index: int) -> ModelReply:
        """The reply with its JSON in `text` and without tool calls, unless the request has tools."""
        if request.tools:
            return reply
        if not reply.text and reply.tool_calls:  # of a forced tool, whose arguments are the reply
            reply = reply.model_copy(update={"text": reply.tool_calls[0].arguments})
        if index == 0 and reply.stop_reason == "complete" and not has_required_fields(request.reply_schema, reply.text):
            self._use_next_format(index)  # the server ignored the schema, so the next request repeats it in the prompt
        return reply.model_copy(update={"tool_calls": (), "thoughts": ()})

    def _do_without(self, sent: ModelRequest, failure: CallFailure, index: int) -> bool:
        """Stop using what the failure says the server lacks: tools, or a format. False where it says neither."""
        if sent.tools and is_about_tools(failure):
            self._capabilities.has_tools = False
            return True
        return is_about_format(failure) and self._use_next_format(index)

    def _use_next_dialect(self, dialect: Dialect, failure: CallFailure) -> bool:
        """Go on to the next dialect if the failure says so, unless a concurrent call did so already."""
        index = self._dialects.index(dialect)
        if index + 1 >= len(self._dialects) or not dialect.is_elsewhere(failure):
            return False
        self._capabilities.dialect_index = max(self._capabilities.dialect_index, index + 1)
        return True

    def _use_next_format(self, index: int) -> bool:
        """Go on to the next format, unless a concurrent call did so already; False when there is none."""
        if index + 1 >= len(self._dialects[self._capabilities.dialect_index].formats):
            return False
        self._capabilities.format_index = max(self._capabilities.format_index, index + 1)
        return True

    def _error(self, failure: CallFailure, usage: Usage) -> ProviderError:
        reason = self.endpoint.redact(failure.message)[:_MESSAGE_CHARS]
        status = f" (HTTP {failure.status})" if failure.status else ""
        message = f"{self.endpoint}: {error_hint(failure, self.endpoint)}{status}: {reason}"
        error = ProviderError(message, failure.status, usage)
        error.is_transient = error.is_transient and not failure.is_final
        return error


def _with_tools(reply: ModelReply, request: ModelRequest) -> ModelReply:
    """The reply with its tool calls, in whatever form the server sent them, and without lone surrogates."""
    called = with_tool_calls(reply, request.tools) if request.tools else reply
    calls = [call.model_copy(update={"arguments": _encodable(call.arguments)}) for call in called.tool_calls]
    return called.model_copy(update={"text": _encodable(called.text), "tool_calls": tuple(calls)})


def _encodable(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


def _call_attributes(endpoint: Endpoint) -> dict[str, AttributeValue]:
    """The attributes of a call's span, by OpenTelemetry's conventions for generative AI; no text of the messages."""
    address = urlsplit(endpoint.address)
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": endpoint.provider,
        "gen_ai.request.model": endpoint.model_id,
        "gen_ai.output.type": "json",
        "server.address": address.hostname or "",
        "server.port": address.port or (443 if address.scheme == "https" else 80),
    }


def _reply_attributes(reply: ModelReply) -> dict[str, AttributeValue]:
    return {
        "gen_ai.response.model": reply.model,
        "gen_ai.response.finish_reasons": (reply.stop_reason,),
        "gen_ai.usage.input_tokens": reply.usage.input_tokens,
        "gen_ai.usage.output_tokens": reply.usage.output_tokens,
    }


class StreamedDialect:
    """A dialect that asks for streams. An answer that is none, from a server that does not stream, is read too."""

    def __init__(self, plain: Dialect) -> None:
        self._plain = plain

    @property
    def formats(self) -> tuple[str, ...]:
        """See `Dialect`."""
        return self._plain.formats

    @property
    def stream_options(self) -> Body:
        """See `Dialect`."""
        return self._plain.stream_options

    def render_body(self, model_id: str, request: ModelRequest, reply_format: str) -> Body:
        """See `Dialect`."""
        return {**self._plain.render_body(model_id, request, reply_format), "stream": True, **self.stream_options}

    async def post(self, endpoint: Endpoint, body: Body, timeout_s: float) -> str | CallFailure:
        """See `Dialect`."""
        return await self._plain.post(endpoint, body, timeout_s)

    def parse_reply(self, body: str) -> ModelReply:
        """See `Dialect`. Raises BrokenStreamError for a stream without its end."""
        if not is_stream(body):
            return self._plain.parse_reply(body)
        return self._plain.parse_reply(json.dumps(self._plain.gather(list(read_events(body)))))

    def gather(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        """See `Dialect`."""
        return self._plain.gather(events)

    def is_elsewhere(self, failure: CallFailure) -> bool:
        """See `Dialect`. Some servers, and some keys, do not stream."""
        refused = failure.status in _STREAM_REFUSED and "stream" in failure.message.lower()
        return refused or self._plain.is_elsewhere(failure)


def read_events(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a stream's events (Server-Sent Events), in order; an event that was cut off is left out."""
    for block in text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n"):
        data = "\n".join(line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:"))
        try:
            event = json.loads(data)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def is_about_format(failure: CallFailure) -> bool:
    """Whether the failure says that the server does not accept the format in which JSON was requested."""
    message = failure.message.lower()
    return failure.status in (400, 422) and any(word in message for word in _FORMAT_WORDS)


def is_about_tools(failure: CallFailure) -> bool:
    """Whether the failure says that the server or its model takes no tools; servers use various statuses for that."""
    return failure.status in _TOOLLESS_STATUSES and "tool" in failure.message.lower()


def error_hint(failure: CallFailure, endpoint: Endpoint) -> str:
    """What a failure means and what the user can do about it, for an error message."""
    by_code = {
        "unreadable": "answered with something that is no model's reply; check that api_base is the API's own address",
        "insufficient_quota": f"the quota of the key in {endpoint.key_variable or 'use'} is used up",
    }
    by_status = {
        None: "cannot be reached; check api_base, that the server runs, and the network",
        401: _key_hint(endpoint),
        403: _key_hint(endpoint),
        404: "has no such model or path; check the model's name, and that api_base is the API's root",
    }
    hint = by_code.get(failure.code) or by_status.get(failure.status)
    if hint is None and failure.retry_after_s is not None:
        hint = f"asks to wait {failure.retry_after_s:g} s, longer than the deadline or the retries allow"
    return hint or "answered with an error"


def _key_hint(endpoint: Endpoint) -> str:
    if endpoint.key_variable:
        return f"refused the key in {endpoint.key_variable}; check the variable, and that the key may use this model"
    return "wants a key; pass api_key='NAME', the name of the environment variable that holds it"
