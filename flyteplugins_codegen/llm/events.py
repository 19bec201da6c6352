"""A streamed answer: the events in its text, and a dialect that asks for one.

Where a stream pays: a gateway that closes quiet connections, and replies that take minutes. The whole is read before
anybody looks into it, under the same deadline, so that half an answer is never taken for one.
https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from flyteplugins_codegen.llm.endpoint import Endpoint
from flyteplugins_codegen.llm.hosted import Body, Dialect
from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest
from flyteplugins_codegen.llm.retries import CallFailure
from flyteplugins_codegen.llm.wire import is_stream

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
