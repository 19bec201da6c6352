"""Recorded replies: written beside any model, answered without one.

A recording is JSON Lines, one exchange a line: `{"request": ..., "request_digest": ..., "reply": ...}`. A request is
matched by its purpose, messages, reply name and attempt; the schema's wording, the parameters and the model are left
out, so that a recording outlives them. Of several lines for one request the last one counts.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import JsonValue

from flyteplugins_codegen.errors import ReplayMissError, SettingsError
from flyteplugins_codegen.llm.protocol import Model, ModelReply, ModelRequest, StopReason
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.conversation import Message, Purpose, Sparse, ToolCall, Usage
from flyteplugins_codegen.store import digest

_DIFF_LINES = 40
_DIFF_COLUMNS = 160


class RecordedRequest(Value):
    """What a request is matched by."""

    purpose: Purpose
    reply_name: str
    attempt: int = 0
    messages: tuple[Message, ...]

    @property
    def text(self) -> str:
        """The conversation as a person reads it."""
        return "\n".join(f"[{message.role}]\n{message.text}" for message in self.messages)


class RecordedReply(Sparse):
    """What is kept of a reply."""

    text: str
    stop_reason: StopReason = "complete"
    usage: Usage = Usage()
    model: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    thoughts: tuple[dict[str, JsonValue], ...] = ()


class Exchange(Value):
    """One line. The digest is for the reader's eyes and for diffs: it is worked out anew on loading."""

    request: RecordedRequest
    request_digest: str
    reply: RecordedReply


class RecordingModel:
    """A model whose every reply is appended to a file, once."""

    def __init__(self, model: Model, file: Path) -> None:
        self._model = model
        self._file = file.expanduser()
        self._known = {exchange.request_digest: exchange for exchange in _load(self._file)}

    @property
    def name(self) -> str:
        """The name of the model that is recorded."""
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model`."""
        reply = await self._model.complete(request)
        exchange = record_exchange(request, reply)
        if self._known.get(exchange.request_digest) != exchange:
            _append_line(self._file, exchange.model_dump_json())
            self._known[exchange.request_digest] = exchange
        return reply


class ReplayModel:
    """A model that knows its recorded replies by heart, and nothing else."""

    def __init__(self, file: Path) -> None:
        self._file = file.expanduser()
        if not self._file.is_file():
            raise SettingsError(f"model 'replay:{file}': there is no such file (looked for {self._file.absolute()})")
        self._exchanges = {exchange.request_digest: exchange for exchange in _load(self._file)}
        if not self._exchanges:
            raise SettingsError(f"model 'replay:{file}': the recording is empty; record one with record={str(file)!r}")

    @property
    def name(self) -> str:
        """`replay:FILE`."""
        return f"replay:{self._file}"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model`."""
        asked = _recorded(request)
        exchange = self._exchanges.get(digest(asked))
        if exchange is None:
            raise ReplayMissError(_explain_miss(asked, self._exchanges.values(), self._file))
        return ModelReply(**dict(exchange.reply))


def record_exchange(request: ModelRequest, reply: ModelReply) -> Exchange:
    """The line of a recording for this request and reply."""
    asked = _recorded(request)
    kept = RecordedReply(**{name: getattr(reply, name) for name in RecordedReply.model_fields})
    return Exchange(request=asked, request_digest=digest(asked), reply=kept)


def _recorded(request: ModelRequest) -> RecordedRequest:
    return RecordedRequest(
        purpose=request.purpose, reply_name=request.reply_name, attempt=request.attempt, messages=request.messages
    )


def _load(file: Path) -> list[Exchange]:
    """The exchanges of a file, none of a file that is absent. Raises SettingsError naming the line that is damaged."""
    try:
        text = file.read_text("utf-8") if file.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the recording {file} cannot be read: {error}") from error
    # Not `splitlines`: a line separator of Unicode's may stand inside a JSON string.
    lines = enumerate(text.split("\n"), start=1)
    return [_parse_line(file, number, line) for number, line in lines if line.strip()]


def _parse_line(file: Path, number: int, line: str) -> Exchange:
    try:
        exchange = Exchange.model_validate_json(line)
    except ValueError as error:
        raise SettingsError(
            f"{file}, line {number}: no recorded exchange; remove the line or record anew: {error}"
        ) from None
    return exchange.model_copy(update={"request_digest": digest(exchange.request)})


def _append_line(file: Path, line: str) -> None:
    """Append in one write, after closing a line that a killed process left open."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        is_open = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, (("\n" if is_open else "") + line + "\n").encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _explain_miss(asked: RecordedRequest, exchanges: Iterable[Exchange], file: Path) -> str:
    head = f"{file} holds no reply to this request ({asked.purpose}, {asked.reply_name}, attempt {asked.attempt})"
    remedy = f"Record again: run the same job with a real model and record={str(file)!r}."
    recorded = [exchange.request for exchange in exchanges if exchange.request.purpose == asked.purpose]
    if not recorded:
        return f"{head}: it holds none of this purpose at all. {remedy}"
    closest = max(recorded, key=lambda other: _likeness(asked.text, other.text))
    return f"{head}. What differs from the closest recorded one:\n{_difference(closest, asked)}\n{remedy}"


def _likeness(text: str, other: str) -> tuple[float, float]:
    """By lines, and among equals by characters, counted in any order so that it stays quick."""
    lines = difflib.SequenceMatcher(None, text.splitlines(), other.splitlines(), autojunk=False)
    return lines.ratio(), difflib.SequenceMatcher(None, text, other, autojunk=False).quick_ratio()


def _difference(recorded: RecordedRequest, asked: RecordedRequest) -> str:
    if recorded.messages == asked.messages:
        return f"the same messages, recorded for {recorded.reply_name}, attempt {recorded.attempt}"
    lines = difflib.unified_diff(
        recorded.text.splitlines(), asked.text.splitlines(), "recorded", "asked", lineterm="", n=1
    )
    shown = [line[:_DIFF_COLUMNS] for line in lines]
    left_out = len(shown) - _DIFF_LINES
    return "\n".join(shown[:_DIFF_LINES] + ([f"... {left_out} more lines"] if left_out > 0 else []))
