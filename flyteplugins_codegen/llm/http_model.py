"""A model behind a provider's HTTP API: deadline, retries, formats and errors, the same for every provider.

What differs between providers is a `Dialect`: how a request is written, sent, and its reply read.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import re
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any, Protocol
from urllib.parse import urlsplit

from pydantic import JsonValue

from flyteplugins_codegen.errors import DeadlineError, ProviderError
from flyteplugins_codegen.llm.endpoint import Endpoint
from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest
from flyteplugins_codegen.llm.retries import CallFailure, RetryPolicy, retry
from flyteplugins_codegen.llm.wire import as_plain, is_stream, keeps_to, with_calls, with_input
from flyteplugins_codegen.models.spending import Usage
from flyteplugins_codegen.telemetry import AttributeValue, span

# What a provider's failure says: of what the server lacks, and of what a person can do about it. Pure.

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


def is_about_format(failure: CallFailure) -> bool:
    """Whether the server does not take the way in which JSON was asked for."""
    said = failure.message.lower()
    return failure.status in (400, 422) and any(word in said for word in _FORMAT_WORDS)


def is_about_tools(failure: CallFailure) -> bool:
    """Whether the server, or the model behind it, takes no tools: told in many ways, by many statuses."""
    return failure.status in _TOOLLESS_STATUSES and "tool" in failure.message.lower()


def advice_on(failure: CallFailure, endpoint: Endpoint) -> str:
    """What happened and what to do about it."""
    by_code = {
        "unreadable": "answered with something that is no model's reply; check that api_base is the API's own address",
        "insufficient_quota": f"the quota of the key in {endpoint.key_variable or 'use'} is used up",
    }
    by_status = {
        None: "cannot be reached; check api_base, that the server runs, and the network",
        401: _key_advice(endpoint),
        403: _key_advice(endpoint),
        404: "has no such model or path; check the model's name, and that api_base is the API's root",
    }
    told = by_code.get(failure.code) or by_status.get(failure.status)
    if told is None and failure.retry_after_s is not None:
        told = f"asks to wait {failure.retry_after_s:g} s, longer than the deadline or the retries allow"
    return told or "answered with an error"


def _key_advice(endpoint: Endpoint) -> str:
    if endpoint.key_variable:
        return f"refused the key in {endpoint.key_variable}; check the variable, and that the key may use this model"
    return "wants a key; pass api_key='NAME', the name of the environment variable that holds it"


# How many calls one server gets at once, from all threads and event loops of this process together.


class Gate:
    """Lets so many in at once; the others wait in the order in which they came, each in its own event loop."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()
        self._lock = threading.Lock()

    async def __aenter__(self) -> None:
        """Wait for a place. Who is cancelled meanwhile leaves none taken."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._free:
                self._free -= 1
                return
            place = (loop, loop.create_future())
            self._waiting.append(place)
        try:
            await place[1]
        except asyncio.CancelledError:
            with self._lock:
                is_waiting = place in self._waiting
                if is_waiting:
                    self._waiting.remove(place)
            if not is_waiting:
                self._pass_on()
            raise

    async def __aexit__(self, *_: object) -> None:
        """Give the place to the next one."""
        self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            while self._waiting:
                loop, let_in = self._waiting.popleft()
                try:
                    loop.call_soon_threadsafe(_let_in, let_in)
                except RuntimeError:  # its loop is closed: nobody waits any more
                    continue
                return
            self._free += 1


def _let_in(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


@functools.cache
def gate_of(address: str, limit: int) -> Gate:
    """The one gate of a server."""
    del address
    return Gate(limit)


Body = dict[str, JsonValue]

_SHOWN_CHARACTERS = 300
_CALLS_AT_ONCE = 16
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # a lone surrogate: JSON can hold it, UTF-8 cannot


class SilentEndError(ValueError):
    """A stream ended before its end was told, or by an error that may pass: asking again may help.

    `usage` is what the reply took by then, None where it had not begun.
    """

    def __init__(self, message: str = "", usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage


class Dialect(Protocol):
    """One provider's way of speaking. `formats` are its ways of asking for JSON, the strictest first."""

    @property
    def formats(self) -> tuple[str, ...]:
        """The names that `render_body` takes."""
        ...

    @property
    def stream_options(self) -> Body:
        """What a body that asks for a stream holds besides `stream`, so that usage is told."""
        ...

    def render_body(self, model_id: str, request: ModelRequest, reply_format: str) -> Body:
        """The request as the provider's client takes it."""
        ...

    async def post(self, endpoint: Endpoint, body: Body, timeout_s: float) -> str | CallFailure:
        """Send it once through the provider's client, with the client's own retries off; the answer's raw body."""
        ...

    def parse_reply(self, body: str) -> ModelReply:
        """Read the answer. Raises ValueError for a body that is no reply of this provider's."""
        ...

    def gather(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        """The answer that a stream's events come to, as a plain one would be.

        Raises SilentEndError where the end is missing; ValueError for an error that was sent as an event.
        """
        ...

    def is_elsewhere(self, failure: CallFailure) -> bool:
        """Whether the failure says that this server, or this model, wants to be asked in another dialect."""
        ...


@dataclasses.dataclass
class Findings:
    """What a server was found to lack: tools, and which dialect and which format are the first that it takes."""

    dialect_index: int = 0
    format_index: int = 0
    has_tools: bool = True


@functools.cache
def findings_of(endpoint: str, *settings: object) -> Findings:
    """What this process has found of an endpoint, so that no later stage asks in vain again."""
    del endpoint, settings
    return Findings()


class HostedModel:
    """A model of one provider at one endpoint. Holds no connection and no loop: each call opens its own client."""

    def __init__(
        self,
        endpoint: Endpoint,
        *dialects: Dialect,
        retries: RetryPolicy | None = None,
        gate: Gate | None = None,
        findings: Findings | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._dialects = dialects
        self._retries = retries or RetryPolicy()
        self._gate = gate or Gate(_CALLS_AT_ONCE)
        self._found = findings or Findings()

    def __repr__(self) -> str:
        return f"HostedModel({self.endpoint})"

    @property
    def name(self) -> str:
        """Provider and model, as the settings take it."""
        return f"{self.endpoint.provider}/{self.endpoint.model_id}"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model`."""
        with span(f"chat {self.endpoint.model_id}", _told_of(self.endpoint), is_call=True) as traced:
            reply = await self._complete(request)
            traced.set_attributes(_told_by(reply))
            return reply

    async def _complete(self, request: ModelRequest) -> ModelReply:
        broken: list[Usage] = []
        try:
            outcome = await asyncio.wait_for(self._ask(request, broken), request.deadline_s)
        except asyncio.TimeoutError:
            outcome = None
        lost = sum(broken, Usage())
        # Raised here, so that no error of the client's, which holds the request's headers, is its context.
        if outcome is None:
            told = f"{self.endpoint}: no complete reply within {request.deadline_s:g} s ({request.purpose})"
            raise DeadlineError(told, usage=lost)
        if isinstance(outcome, CallFailure):
            raise self._error(outcome, lost)
        return outcome.model_copy(update={"usage": lost + outcome.usage})

    async def _ask(self, request: ModelRequest, broken: list[Usage]) -> ModelReply | CallFailure:
        """The reply, or why there is none; `broken` gets what each reply that broke off took."""
        while True:
            dialect, index = self._dialects[self._found.dialect_index], self._found.format_index
            has_tools = self._found.has_tools
            asked = as_plain(request) if request.tools and not has_tools else request
            body = dialect.render_body(self.endpoint.model_id, asked, dialect.formats[index])

            async def send() -> ModelReply | CallFailure:
                sent = await self._send(dialect, body, request.deadline_s)  # noqa: B023 - awaited in this round
                if isinstance(sent, CallFailure) and sent.usage is not None:
                    broken.append(with_input(sent.usage, request))
                return sent

            outcome = await retry(send, self._retries, request.deadline_s)
            if isinstance(outcome, ModelReply):
                return _with_tools(self._checked(outcome, asked, index), request)
            if not (self._moves_on(dialect, outcome) or self._makes_do(asked, outcome, index)):
                return outcome

    async def _send(self, dialect: Dialect, body: Body, timeout_s: float) -> ModelReply | CallFailure:
        """Ask once. A stream that ends in silence is a broken connection."""
        async with self._gate:
            answer = await dialect.post(self.endpoint, body, timeout_s)
        if isinstance(answer, CallFailure):
            return answer
        try:
            return dialect.parse_reply(answer)
        except SilentEndError as error:
            told = str(error) or "the stream ended in the middle of the reply"
            return CallFailure(status=None, message=told, usage=error.usage)
        except ValueError as error:
            return CallFailure(status=200, message=str(error), code="unreadable")

    def _checked(self, reply: ModelReply, request: ModelRequest, index: int) -> ModelReply:
        if request.tools:
            return reply
        if not reply.text and reply.tool_calls:  # a tool that was forced, of which the arguments are the reply
            reply = reply.model_copy(update={"text": reply.tool_calls[0].arguments})
        if index == 0 and reply.stop_reason == "complete" and not keeps_to(request.reply_schema, reply.text):
            self._relax(index)  # it took the schema and did not keep to it: tell the next one in the prompt too
        return reply.model_copy(update={"tool_calls": (), "thoughts": ()})

    def _makes_do(self, asked: ModelRequest, failure: CallFailure, index: int) -> bool:
        """Ask without what the failure says that the server lacks; False where it says nothing of that."""
        if asked.tools and is_about_tools(failure):
            self._found.has_tools = False
            return True
        return is_about_format(failure) and self._relax(index)

    def _moves_on(self, dialect: Dialect, failure: CallFailure) -> bool:
        """Go on to the next dialect where the failure says so, unless a call beside this one did so already."""
        index = self._dialects.index(dialect)
        if index + 1 >= len(self._dialects) or not dialect.is_elsewhere(failure):
            return False
        self._found.dialect_index = max(self._found.dialect_index, index + 1)
        return True

    def _relax(self, index: int) -> bool:
        """Go on to the next format, unless a call beside this one did so already; False when there is none."""
        if index + 1 >= len(self._dialects[self._found.dialect_index].formats):
            return False
        self._found.format_index = max(self._found.format_index, index + 1)
        return True

    def _error(self, failure: CallFailure, usage: Usage) -> ProviderError:
        said = self.endpoint.redact(failure.message)[:_SHOWN_CHARACTERS]
        status = f" (HTTP {failure.status})" if failure.status else ""
        told = f"{self.endpoint}: {advice_on(failure, self.endpoint)}{status}: {said}"
        return ProviderError(told, failure.status, usage)


def _with_tools(reply: ModelReply, request: ModelRequest) -> ModelReply:
    """The reply with the calls that it holds in any form, without half characters."""
    called = with_calls(reply, request.tools) if request.tools else reply
    calls = [each.model_copy(update={"arguments": _whole(each.arguments)}) for each in called.tool_calls]
    return called.model_copy(update={"text": _whole(called.text), "tool_calls": tuple(calls)})


def _whole(text: str) -> str:
    return _HALF_CHARACTER.sub("\ufffd", text)


def _told_of(endpoint: Endpoint) -> dict[str, AttributeValue]:
    """What a span says of a call, by the conventions for generative AI; never what is said in it."""
    address = urlsplit(endpoint.address)
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": endpoint.provider,
        "gen_ai.request.model": endpoint.model_id,
        "gen_ai.output.type": "json",
        "server.address": address.hostname or "",
        "server.port": address.port or (443 if address.scheme == "https" else 80),
    }


def _told_by(reply: ModelReply) -> dict[str, AttributeValue]:
    return {
        "gen_ai.response.model": reply.model,
        "gen_ai.response.finish_reasons": (reply.stop_reason,),
        "gen_ai.usage.input_tokens": reply.usage.input_tokens,
        "gen_ai.usage.output_tokens": reply.usage.output_tokens,
    }


# A streamed answer: the events in its text, and a dialect that asks for one.

_NOT_TAKEN = (400, 422)


class Streamed:
    """A dialect whose answers come as streams; a server that sends a plain one all the same is understood."""

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
        """See `Dialect`. Raises SilentEndError for a stream without its end."""
        if not is_stream(body):
            return self._plain.parse_reply(body)
        return self._plain.parse_reply(json.dumps(self._plain.gather(list(read_events(body)))))

    def gather(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        """See `Dialect`."""
        return self._plain.gather(events)

    def is_elsewhere(self, failure: CallFailure) -> bool:
        """See `Dialect`: some servers, and some keys, do not stream."""
        refused = failure.status in _NOT_TAKEN and "stream" in failure.message.lower()
        return refused or self._plain.is_elsewhere(failure)


def read_events(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a stream's events, in order; what was cut in the middle is left out."""
    for block in text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n"):
        data = "\n".join(line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:"))
        try:
            event = json.loads(data)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event
