"""Models that keep replies on disk: recordings, which answer without a model, and the cache of paid replies.

A recording is JSON Lines, one exchange a line: `{"request": ..., "request_digest": ..., "reply": ...}`. A request is
matched by its purpose, messages, reply name and attempt. The schema, the parameters and the model are left out, so that
they may change without a new recording. Of several lines for one request the last one counts.

`prompts` is the version of the prompts that a line was recorded with; lines of the first version lack it. A request
without a line is looked for among those of earlier versions, by what it asks for: see `recorded_requests`.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Final

from pydantic import JsonValue

from flyteplugins_codegen.errors import ReplayMissError, SettingsError
from flyteplugins_codegen.llm.concurrency import request_lock
from flyteplugins_codegen.llm.protocol import Model, ModelReply, ModelRequest, StopReason
from flyteplugins_codegen.llm.recorded_requests import EarlierRequests, RecordedRequest
from flyteplugins_codegen.models.base import Extended
from flyteplugins_codegen.models.settings import CacheMode
from flyteplugins_codegen.models.spending import Sparse, ToolCall, Usage
from flyteplugins_codegen.store import ContentStore, digest

PROMPTS: Final = 2
"""The version of the prompts. It is raised with a release whose prompts differ from those of the one before."""
REPLIES = "replies"
"""The kind of the store's entries that are cached replies."""
_LOCKS = "asking"
_DIFF_LINES = 40
_DIFF_COLUMNS = 160


class RecordedReply(Sparse):
    """The parts of a reply that are recorded."""

    text: str
    stop_reason: StopReason = "complete"
    usage: Usage = Usage()
    model: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    thoughts: tuple[dict[str, JsonValue], ...] = ()


class RecordedExchange(Extended):
    """One line of a recording. The digest is for readers and diffs; loading computes it again.

    `prompts` is the version of the prompts, 0 in lines that were recorded before versions were noted.
    """

    request: RecordedRequest
    request_digest: str
    reply: RecordedReply
    prompts: int = 0

    later_fields: ClassVar[frozenset[str]] = frozenset({"prompts"})


class RecordingModel:
    """A model around a model that appends each new exchange to a recording."""

    def __init__(self, model: Model, file: Path) -> None:
        self._model = model
        self._file = file.expanduser()
        self._known = {exchange.request_digest: exchange.reply for exchange in _load(self._file)}

    @property
    def name(self) -> str:
        """The name of the recorded model."""
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model`."""
        reply = await self._model.complete(request)
        exchange = record_exchange(request, reply)
        if self._known.get(exchange.request_digest) != exchange.reply:
            _append_line(self._file, exchange.model_dump_json())
            self._known[exchange.request_digest] = exchange.reply
        return reply


class ReplayModel:
    """A model that answers from a recording, of an earlier version too, and raises ReplayMissError otherwise."""

    def __init__(self, file: Path) -> None:
        self._file = file.expanduser()
        if not self._file.is_file():
            raise SettingsError(f"model 'replay:{file}': there is no such file (looked for {self._file.absolute()})")
        self._exchanges = {exchange.request_digest: exchange for exchange in _load(self._file)}
        if not self._exchanges:
            raise SettingsError(f"model 'replay:{file}': the recording is empty; record one with record={str(file)!r}")
        lines = self._exchanges.values()
        self._earlier = EarlierRequests(exchange.request for exchange in lines if exchange.prompts < PROMPTS)

    @property
    def name(self) -> str:
        """`replay:FILE`."""
        return f"replay:{self._file}"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model`."""
        recorded = _recorded_request(request)
        exchange = self._exchanges.get(digest(recorded))
        if exchange is None and (earlier := self._earlier.find(recorded)) is not None:
            exchange = self._exchanges[digest(earlier)]
        if exchange is None:
            raise ReplayMissError(_explain_miss(recorded, self._exchanges.values(), self._file))
        return ModelReply(**dict(exchange.reply))


def record_exchange(request: ModelRequest, reply: ModelReply) -> RecordedExchange:
    """The line of a recording for this request and reply."""
    recorded = _recorded_request(request)
    kept = RecordedReply(**{name: getattr(reply, name) for name in RecordedReply.model_fields})
    return RecordedExchange(request=recorded, request_digest=digest(recorded), reply=kept, prompts=PROMPTS)


def _recorded_request(request: ModelRequest) -> RecordedRequest:
    return RecordedRequest(
        purpose=request.purpose, reply_name=request.reply_name, attempt=request.attempt, messages=request.messages
    )


def _load(file: Path) -> list[RecordedExchange]:
    """The exchanges in a file; none where it does not exist. Raises SettingsError, which names a damaged line."""
    try:
        text = file.read_text("utf-8") if file.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the recording {file} cannot be read: {error}") from error
    # Not `splitlines`: a JSON string may contain Unicode's line separators.
    lines = enumerate(text.split("\n"), start=1)
    return [_parse_line(file, number, line) for number, line in lines if line.strip()]


def _parse_line(file: Path, number: int, line: str) -> RecordedExchange:
    try:
        exchange = RecordedExchange.model_validate_json(line)
    except ValueError as error:
        raise SettingsError(
            f"{file}, line {number}: no recorded exchange; remove the line or record anew: {error}"
        ) from None
    return exchange.model_copy(update={"request_digest": digest(exchange.request)})


def _append_line(file: Path, line: str) -> None:
    """Append a line in one write, after ending a line that a killed process left incomplete."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        is_open = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, (("\n" if is_open else "") + line + "\n").encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _explain_miss(request: RecordedRequest, exchanges: Iterable[RecordedExchange], file: Path) -> str:
    head = f"{file} holds no reply to this request ({request.purpose}, {request.reply_name}, attempt {request.attempt})"
    remedy = f"Record again: run the same job with a real model and record={str(file)!r}."
    recorded = [exchange.request for exchange in exchanges if exchange.request.purpose == request.purpose]
    if not recorded:
        return f"{head}: it holds none of this purpose at all. {remedy}"
    closest = max(recorded, key=lambda other: _likeness(request.text, other.text))
    return f"{head}. What differs from the closest recorded one:\n{_difference(closest, request)}\n{remedy}"


def _likeness(text: str, other: str) -> tuple[float, float]:
    """By lines, and among equals by characters; these are compared without their order, which is fast."""
    lines = difflib.SequenceMatcher(None, text.splitlines(), other.splitlines(), autojunk=False)
    return lines.ratio(), difflib.SequenceMatcher(None, text, other, autojunk=False).quick_ratio()


def _difference(recorded: RecordedRequest, request: RecordedRequest) -> str:
    if recorded.messages == request.messages:
        return f"the same messages, recorded for {recorded.reply_name}, attempt {recorded.attempt}"
    lines = difflib.unified_diff(
        recorded.text.splitlines(), request.text.splitlines(), "recorded", "asked", lineterm="", n=1
    )
    cut = [line[:_DIFF_COLUMNS] for line in lines]
    left_out = len(cut) - _DIFF_LINES
    return "\n".join(cut[:_DIFF_LINES] + ([f"... {left_out} more lines"] if left_out > 0 else []))


class CachedModel:
    """A model around a model that caches replies on disk, so that a run that was killed goes on without paying again.

    `mode`: "auto" reads and writes the store, "override" asks again and overwrites, "disable" does not use the store.
    `scope` separates models of one name at different addresses.
    """

    def __init__(self, model: Model, store: ContentStore, mode: CacheMode = "auto", scope: str = "") -> None:
        self._model = model
        self._store = store
        self._mode = mode
        self._scope = scope

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model`. A request that several tasks or processes make at the same time is paid for once."""
        if self._mode == "disable":
            return await self._model.complete(request)
        key = self._key(request)
        if self._mode == "override":
            return await self._ask(key, request)
        return self._find(key) or await self._find_or_ask(key, request)

    async def _find_or_ask(self, key: str, request: ModelRequest) -> ModelReply:
        async with request_lock(self._store.path(_LOCKS, key).with_suffix(""), request.deadline_s) as waited_s:
            return self._find(key) or await self._ask(key, _with_remaining_deadline(request, waited_s))

    def _find(self, key: str) -> ModelReply | None:
        reply = self._store.get(REPLIES, key, ModelReply)
        return reply and reply.model_copy(update={"is_reused": True})

    async def _ask(self, key: str, request: ModelRequest) -> ModelReply:
        reply = await self._model.complete(request)
        # Before it is used: it is paid for.
        self._store.keep(REPLIES, key, reply)
        return reply

    def _key(self, request: ModelRequest) -> str:
        # The deadline does not change the answer.
        return digest(self.name, self._scope, request.model_dump(mode="json", exclude={"deadline_s"}))


def _with_remaining_deadline(request: ModelRequest, waited_s: float) -> ModelRequest:
    """The request with the rest of its deadline, after waiting for the same request of another caller."""
    if not waited_s:
        return request
    return request.model_copy(update={"deadline_s": max(request.deadline_s - waited_s, 0.001)})
