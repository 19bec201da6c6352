"""A loopback server that speaks OpenAI Chat Completions and Responses and Anthropic Messages, plain and streamed.

    with ModelServer({"SolutionReply": [{"code": "..."}], "TestsReply": [HttpError(429), {...}]}) as server:
        agent = AutoCoderAgent(model="openai/any", api_base=server.url)
        ...
        assert len(server.calls) == 3

A request takes the next item scripted for the schema that it asks for (`response_format`, `output_config`, a forced
tool, or the schema's name in its messages), for "tools" where it offers some ("tools after N": when the conversation
holds N replies), under "*" where the script does not name it. An item is a dict (sent as JSON text), a str (sent as it
is), a `Reply`, or one of the faults. A request beyond the script is answered by 400.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, TypeAlias

from typing_extensions import Self

StopReason = Literal["complete", "truncated", "refused", "filtered"]

_OPENAI_FINISH = {"complete": "stop", "truncated": "length", "refused": "stop", "filtered": "content_filter"}
_ANTHROPIC_STOP = {"complete": "end_turn", "truncated": "max_tokens", "refused": "refusal", "filtered": "refusal"}


@dataclasses.dataclass(frozen=True)
class Reply:
    """A reply. `input_tokens` includes the cached ones; None counts four characters of the messages as a token.

    `calls` are calls of tools, each a name and its arguments; as a str these are sent as they are.
    """

    content: dict[str, Any] | str = ""
    stop_reason: StopReason = "complete"
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    has_usage: bool = True
    delay_s: float = 0.0
    calls: tuple[tuple[str, dict[str, Any] | str], ...] = ()

    @property
    def text(self) -> str:
        """The content as the model would write it."""
        return self.content if isinstance(self.content, str) else json.dumps(self.content)


@dataclasses.dataclass(frozen=True)
class HttpError:
    """An error status, with the provider's usual JSON body unless `body` gives another."""

    status: int
    message: str = "scripted error"
    code: str | None = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    body: str | None = None


@dataclasses.dataclass(frozen=True)
class RawBody:
    """Any bytes under any content type, such as a proxy's HTML page."""

    body: str
    content_type: str = "text/html"
    status: int = 200


@dataclasses.dataclass(frozen=True)
class Hang:
    """No answer at all until the client or the server gives up."""


@dataclasses.dataclass(frozen=True)
class Drip:
    """A right reply, one byte every `interval_s` seconds."""

    content: dict[str, Any] | str
    interval_s: float = 0.05


@dataclasses.dataclass(frozen=True)
class Cut:
    """Half of a right reply, then the end of the connection."""

    content: dict[str, Any] | str | Reply


@dataclasses.dataclass(frozen=True)
class SilentEnd:
    """The first half of a right reply, as if it were all of it."""

    content: dict[str, Any] | str | Reply


@dataclasses.dataclass(frozen=True)
class Reset:
    """The connection is reset without an answer."""


Scripted: TypeAlias = dict[str, Any] | str | Reply | HttpError | RawBody | Hang | Drip | Cut | SilentEnd | Reset


@dataclasses.dataclass(frozen=True)
class SeenCall:
    """One request as it came in. `name` is the schema that it asked for, `size_bytes` its body's length."""

    path: str
    name: str
    headers: dict[str, str]
    body: dict[str, Any]
    size_bytes: int


class ModelServer:
    """See the module. `rejects` names formats to answer by 400, as older servers do: "json_schema", "json_object",
    "output_config", "tools", "stream", "responses" (a path that most servers lack), "chat" (of models elsewhere).
    `repeat_last` answers a request beyond the script by its last item.
    """

    def __init__(
        self, script: Mapping[str, Sequence[Scripted]], *, rejects: Sequence[str] = (), repeat_last: bool = False
    ) -> None:
        self._script = {name: tuple(items) for name, items in script.items()}
        self._rejects = tuple(rejects)
        self._repeat_last = repeat_last
        self._served: dict[str, int] = {}
        self._calls: list[SeenCall] = []
        self._lock = threading.Lock()
        self._token = secrets.token_hex(8)  # a port comes again, sooner or later
        self.closing = threading.Event()
        self._http = _HttpServer(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The `api_base` for both protocols. No two servers have one: what is kept of one's replies is no other's."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/{self._token}/v1"

    @property
    def calls(self) -> tuple[SeenCall, ...]:
        """Every request so far, refused ones included, in the order of arrival."""
        with self._lock:
            return tuple(self._calls)

    @property
    def size_bytes(self) -> int:
        """The sum of all request bodies."""
        return sum(call.size_bytes for call in self.calls)

    def rewind(self) -> None:
        """Start the script from its beginning and forget the calls."""
        with self._lock:
            self._served.clear()
            self._calls.clear()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()

    def receive(self, path: str, headers: dict[str, str], data: bytes) -> tuple[SeenCall, Scripted]:
        """Note the request and choose what answers it."""
        body, path = json.loads(data), path.removeprefix(f"/{self._token}")
        call = SeenCall(path, self._name_of(body), headers, body, len(data))
        with self._lock:
            self._calls.append(call)
            refused = _rejected_path(path, body, self._rejects) or _rejected_format(body, self._rejects)
            return call, refused or self._next(call.name)

    def _name_of(self, body: dict[str, Any]) -> str:
        name = _declared_name(body)
        if name == "tools" and (numbered := f"tools after {_turns(body)}") in self._script:
            return numbered
        if name is None:
            said = json.dumps([body.get("system", ""), _messages_of(body)])
            name = next((known for known in self._script if known in said), None)
        return name if name in self._script else ("*" if "*" in self._script else name or "")

    def _next(self, name: str) -> Scripted:
        items, number = self._script.get(name, ()), self._served.get(name, 0)
        self._served[name] = number + 1
        if number < len(items):
            return items[number]
        if items and self._repeat_last:
            return items[-1]
        return HttpError(400, f"the script holds {len(items)} replies to {name!r}, and this is request {number + 1}")


def _declared_name(body: dict[str, Any]) -> str | None:
    name: str | None = None
    if "response_format" in body:
        name = body["response_format"].get("json_schema", {}).get("name")
    elif "format" in body.get("text", {}):
        name = body["text"]["format"].get("name")
    elif "output_config" in body:
        name = body["output_config"].get("format", {}).get("schema", {}).get("title")
    elif "tool_choice" in body:
        name = body["tool_choice"].get("name")
    elif "tools" in body:
        name = "tools"
    return name


def _turns(body: dict[str, Any]) -> int:
    """How many replies a conversation of Chat Completions or Messages holds."""
    return sum(message.get("role") == "assistant" for message in _messages_of(body))


def _messages_of(body: dict[str, Any]) -> Any:
    return body.get("messages", body.get("input", []))


def _rejected_path(path: str, body: dict[str, Any], rejects: Sequence[str]) -> HttpError | None:
    if path.endswith("/responses") and "responses" in rejects:
        return HttpError(404, body="404 page not found")
    if path.endswith("/chat/completions") and "chat" in rejects:
        return HttpError(404, "This model is only supported in v1/responses and not in v1/chat/completions.")
    if "stream" in body and "stream" in rejects:
        return HttpError(400, "stream: your organization must be verified to stream this model")
    return None


def _rejected_format(body: dict[str, Any], rejects: Sequence[str]) -> HttpError | None:
    if "tools" in body and "tools" in rejects:
        return HttpError(400, f"{body['model']} does not support tools")
    kind = body.get("response_format", {}).get("type") or body.get("text", {}).get("format", {}).get("type")
    if kind in rejects:
        return HttpError(400, f"'response_format' of type '{kind}' is not supported by this server")
    if "output_config" in body and "output_config" in rejects:
        return HttpError(400, "output_config: Extra inputs are not permitted")
    return None


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, owner: ModelServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is part of the tests, and no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _HttpServer
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        call, item = self.server.owner.receive(self.path, {k.lower(): v for k, v in self.headers.items()}, data)
        self._answer(call, Reply(item) if isinstance(item, dict | str) else item)

    def _answer(self, call: SeenCall, item: Any) -> None:
        if isinstance(item, Reply):
            self.server.owner.closing.wait(item.delay_s)
            text = render_answer(call, item)
            self._send(200, text, content_type="text/event-stream" if "stream" in call.body else "application/json")
        elif isinstance(item, HttpError):
            self._send(item.status, _error_body(call, item), headers=item.headers)
        elif isinstance(item, SilentEnd):
            text = render_answer(call, _as_reply(item.content))
            self._send(200, text[: len(text) // 2])
        elif isinstance(item, RawBody):
            self._send(item.status, item.body, content_type=item.content_type)
        else:
            self.close_connection = True
            self._misbehave(call, item)

    def _misbehave(self, call: SeenCall, item: Hang | Drip | Cut | Reset) -> None:
        if isinstance(item, Hang):
            self.server.owner.closing.wait(30)
        elif isinstance(item, Reset):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            # The files share the descriptor: all three must go for the reset to be sent.
            self.rfile.close()
            self.wfile.close()
            self.connection.close()
        else:
            body = render_answer(call, _as_reply(item.content)).encode()
            self.wfile.write(self._head(200, "application/json", len(body), {}))
            self._send_slowly(body, item) if isinstance(item, Drip) else self.wfile.write(body[: len(body) // 2])

    def _send_slowly(self, body: bytes, item: Drip) -> None:
        for position in range(len(body)):
            self.wfile.write(body[position : position + 1])
            if self.server.owner.closing.wait(item.interval_s):
                return

    def _send(
        self,
        status: int,
        text: str,
        *,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        body = text.encode()
        self.wfile.write(self._head(status, content_type, len(body), headers or {}) + body)

    def _head(self, status: int, content_type: str, length: int, headers: Mapping[str, str]) -> bytes:
        fields = {"Content-Type": content_type, "Content-Length": str(length), **headers}
        lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
        return "\r\n".join(lines).encode("latin-1")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Tests read `calls` instead."""


def _as_reply(content: dict[str, Any] | str | Reply) -> Reply:
    return content if isinstance(content, Reply) else Reply(content)


def _is_anthropic(call: SeenCall) -> bool:
    return call.path.endswith("/messages")


def _error_body(call: SeenCall, item: HttpError) -> str:
    if item.body is not None:
        return item.body
    error = {"message": item.message, "type": item.code or "scripted", "code": item.code}
    return json.dumps({"type": "error", "error": error} if _is_anthropic(call) else {"error": error})


def render_reply(call: SeenCall, reply: Reply) -> dict[str, Any]:
    """The body in the protocol that the call speaks."""
    said = json.dumps([call.body.get("system", ""), _messages_of(call.body)])
    counted = dataclasses.replace(
        reply,
        input_tokens=len(said) // 4 if reply.input_tokens is None else reply.input_tokens,
        output_tokens=len(reply.text) // 4 if reply.output_tokens is None else reply.output_tokens,
    )
    if call.path.endswith("/responses"):
        return _responses_body(call, counted)
    return _anthropic_body(call, counted) if _is_anthropic(call) else _openai_body(call, counted)


def render_answer(call: SeenCall, reply: Reply) -> str:
    """The answer's text, as a stream of events where the call asks for one."""
    body = render_reply(call, reply)
    if "stream" not in call.body:
        return json.dumps(body)
    if call.path.endswith("/responses"):
        return "".join(_event(event) for event in _responses_events(body))
    if _is_anthropic(call):
        return "".join(_event(event) for event in _anthropic_events(body))
    return "".join(f"data: {json.dumps(event)}\n\n" for event in _openai_events(body)) + "data: [DONE]\n\n"


def _event(event: dict[str, Any]) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _pieces(text: str) -> list[str]:
    return [text[start : start + 20] for start in range(0, len(text), 20)]


def _responses_events(body: dict[str, Any]) -> list[dict[str, Any]]:
    text = "".join(part.get("text", "") for item in body["output"] for part in item.get("content", []))
    deltas = [{"type": "response.output_text.delta", "delta": piece} for piece in _pieces(text)]
    end = {"type": f"response.{body['status']}", "response": body}
    return [{"type": "response.created", "response": {**body, "output": [], "status": "in_progress"}}, *deltas, end]


def _anthropic_events(body: dict[str, Any]) -> list[dict[str, Any]]:
    usage = body.get("usage", {})
    start = {**body, "content": [], "stop_reason": None}
    if usage:
        start["usage"] = {**usage, "output_tokens": 1}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(body["content"]):
        is_tool = block["type"] == "tool_use"
        text = _arguments(block["input"]) if is_tool else block["text"]
        empty = {**block, "input": {}} if is_tool else {**block, "text": ""}
        name, kind = ("partial_json", "input_json_delta") if is_tool else ("text", "text_delta")
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        deltas = [{"type": kind, name: piece} for piece in _pieces(text)]
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    told = {"usage": {"output_tokens": usage["output_tokens"]}} if usage else {}
    return [*events, {"type": "message_delta", "delta": delta, **told}, {"type": "message_stop"}]


def _openai_events(body: dict[str, Any]) -> list[dict[str, Any]]:
    choice = body["choices"][0]
    name = "refusal" if choice["message"]["refusal"] else "content"
    common = {"id": body["id"], "object": "chat.completion.chunk", "model": body["model"]}
    deltas: list[dict[str, Any]] = [{name: piece} for piece in _pieces(choice["message"][name] or "")]
    deltas += [delta for call in choice["message"].get("tool_calls", []) for delta in _call_deltas(call)]
    events = [{**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    end = {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    return [*events, end, *([{**common, "choices": [], "usage": body["usage"]}] if "usage" in body else [])]


def _call_deltas(call: dict[str, Any]) -> list[dict[str, Any]]:
    """The call's id and name in the first piece, its arguments in those after it."""
    index, function = int(call["id"].removeprefix("call_")), call["function"]
    first = {**call, "index": index, "function": {**function, "arguments": ""}}
    others = [{"index": index, "function": {"arguments": piece}} for piece in _pieces(function["arguments"])]
    return [{"tool_calls": [piece]} for piece in (first, *others)]


def _arguments(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _responses_body(call: SeenCall, reply: Reply) -> dict[str, Any]:
    refused = reply.stop_reason == "refused"
    part = {"type": "refusal", "refusal": reply.text} if refused else {"type": "output_text", "text": reply.text}
    reason = {"truncated": "max_output_tokens", "filtered": "content_filter"}.get(reply.stop_reason)
    body: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "model": call.body.get("model"),
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "error": None,
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]},
            *(
                {"type": "function_call", "call_id": f"call_{n}", "name": name, "arguments": _arguments(given)}
                for n, (name, given) in enumerate(reply.calls)
            ),
        ],
    }
    if reply.has_usage:
        body["usage"] = {
            "input_tokens": reply.input_tokens,
            "output_tokens": reply.output_tokens,
            "input_tokens_details": {"cached_tokens": reply.cached_tokens},
            "output_tokens_details": {"reasoning_tokens": reply.reasoning_tokens},
        }
    return body


def _openai_body(call: SeenCall, reply: Reply) -> dict[str, Any]:
    refused = reply.stop_reason == "refused"
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if refused else reply.text,
        "refusal": reply.text if refused else None,
    }
    if reply.calls:
        message["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": _arguments(given)}}
            for n, (name, given) in enumerate(reply.calls)
        ]
    finish = "tool_calls" if reply.calls and reply.stop_reason == "complete" else _OPENAI_FINISH[reply.stop_reason]
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": call.body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if reply.has_usage:
        input_tokens, output_tokens = reply.input_tokens or 0, reply.output_tokens or 0
        body["usage"] = {
            "prompt_tokens": input_tokens,
            "completion_tokens": output_tokens,
            "total_tokens": input_tokens + output_tokens,
            "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
            "completion_tokens_details": {"reasoning_tokens": reply.reasoning_tokens},
        }
    return body


def _anthropic_body(call: SeenCall, reply: Reply) -> dict[str, Any]:
    stop = _ANTHROPIC_STOP[reply.stop_reason]
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": call.body.get("model"),
        "content": _anthropic_content(call, reply),
        "stop_reason": "tool_use" if reply.calls and stop == "end_turn" else stop,
        "stop_sequence": None,
    }
    if reply.has_usage:
        body["usage"] = {
            "input_tokens": (reply.input_tokens or 0) - reply.cached_tokens,
            "output_tokens": reply.output_tokens,
            "cache_read_input_tokens": reply.cached_tokens,
            "cache_creation_input_tokens": 0,
            "output_tokens_details": {"thinking_tokens": reply.reasoning_tokens},
        }
    return body


def _anthropic_content(call: SeenCall, reply: Reply) -> list[dict[str, Any]]:
    if "tool_choice" in call.body:
        value = reply.content if isinstance(reply.content, dict) else {"text": reply.content}
        return [{"type": "tool_use", "id": "toolu_1", "name": call.body["tool_choice"]["name"], "input": value}]
    words = [{"type": "text", "text": reply.text}] if reply.text else []
    return [*words, *(_tool_use(number, *called, call) for number, called in enumerate(reply.calls))]


def _tool_use(number: int, name: str, given: dict[str, Any] | str, call: SeenCall) -> dict[str, Any]:
    """Arguments that are no JSON occur in a stream only."""
    value = given if isinstance(given, dict) or "stream" in call.body else {}
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": value}
