"""A model behind a provider's HTTP API: deadline, retries, formats and errors, the same for every provider.

What differs between providers is a `Dialect`: how a request is written, sent, and its reply read.
"""

from __future__ import annotations

import asyncio
import functools
import re
from typing import Protocol

from pydantic import JsonValue

from flyteplugins_codegen.errors import DeadlineError, ProviderError
from flyteplugins_codegen.llm.endpoint import Endpoint
from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest
from flyteplugins_codegen.llm.retries import CallFailure, RetryPolicy, retry
from flyteplugins_codegen.llm.wire import keeps_to

Body = dict[str, JsonValue]

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
_SHOWN_CHARACTERS = 300
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # a lone surrogate: JSON can hold it, UTF-8 cannot


class Dialect(Protocol):
    """One provider's way of speaking. `formats` are its ways of asking for JSON, the strictest first."""

    @property
    def formats(self) -> tuple[str, ...]:
        """The names that `render_body` takes."""
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


class HostedModel:
    """A model of one provider at one endpoint. Holds no connection and no loop: each call opens its own client."""

    def __init__(self, endpoint: Endpoint, dialect: Dialect, retries: RetryPolicy | None = None) -> None:
        self.endpoint = endpoint
        self._dialect = dialect
        self._retries = retries or RetryPolicy()
        # What this server was found to lack is not asked of it again while this object lives.
        self._format_index = 0

    def __repr__(self) -> str:
        return f"HostedModel({self.endpoint})"

    @property
    def name(self) -> str:
        """Provider and model, as the settings take it."""
        return f"{self.endpoint.provider}/{self.endpoint.model_id}"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model`."""
        try:
            outcome = await asyncio.wait_for(self._ask(request), request.deadline_s)
        except asyncio.TimeoutError:
            outcome = None
        # Raised here, so that no error of the client's, which holds the request's headers, is its context.
        if outcome is None:
            raise DeadlineError(
                f"{self.endpoint}: no complete reply within {request.deadline_s:g} s ({request.purpose})"
            )
        if isinstance(outcome, CallFailure):
            raise self._error(outcome)
        return outcome

    async def _ask(self, request: ModelRequest) -> ModelReply | CallFailure:
        while True:
            index = self._format_index
            body = self._dialect.render_body(self.endpoint.model_id, request, self._dialect.formats[index])
            post = functools.partial(self._dialect.post, self.endpoint, body, request.deadline_s)
            outcome = await retry(post, self._retries, request.deadline_s)
            if isinstance(outcome, str):
                return self._read(outcome, request, index)
            if not (_is_about_format(outcome) and self._relax(index)):
                return outcome

    def _read(self, body: str, request: ModelRequest, index: int) -> ModelReply | CallFailure:
        try:
            reply = self._dialect.parse_reply(body)
        except ValueError as error:
            return CallFailure(status=200, message=str(error), code="unreadable")
        if index == 0 and reply.stop_reason == "complete" and not keeps_to(request.reply_schema, reply.text):
            self._relax(index)  # it took the schema and did not keep to it: tell the next one in the prompt too
        return reply.model_copy(update={"text": _HALF_CHARACTER.sub("\ufffd", reply.text)})

    def _relax(self, index: int) -> bool:
        """Go on to the next format, unless a call beside this one did so already; False when there is none."""
        if index + 1 >= len(self._dialect.formats):
            return False
        self._format_index = max(self._format_index, index + 1)
        return True

    def _error(self, failure: CallFailure) -> ProviderError:
        said = self.endpoint.redact(failure.message)[:_SHOWN_CHARACTERS]
        status = f" (HTTP {failure.status})" if failure.status else ""
        return ProviderError(f"{self.endpoint}: {_advice(failure, self.endpoint)}{status}: {said}", failure.status)


def _is_about_format(failure: CallFailure) -> bool:
    said = failure.message.lower()
    return failure.status in (400, 422) and any(word in said for word in _FORMAT_WORDS)


def _advice(failure: CallFailure, endpoint: Endpoint) -> str:
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
