"""Recorded replies: written beside any model, answered without one.

A recording is JSON Lines, one exchange a line: `{"request": ..., "request_digest": ..., "reply": ...}`. A request is
matched by its purpose, messages, reply name and attempt; the schema's wording, the parameters and the model are left
out, so that a recording outlives them. Of several lines for one request the last one counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import fcntl
import os
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from pydantic import JsonValue

from flyteplugins_codegen.errors import ReplayMissError, SettingsError
from flyteplugins_codegen.llm.protocol import Model, ModelReply, ModelRequest, StopReason
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.settings import CacheMode
from flyteplugins_codegen.models.spending import Message, Purpose, Sparse, ToolCall, Usage
from flyteplugins_codegen.store import ContentStore, digest

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


# One question at a time: who asks holds a lock on it, and whoever asks the same meanwhile waits for the answer.

_LOOK_EVERY_S = 0.02


_NOT_POSSIBLE = -1


@contextlib.asynccontextmanager
async def claimed(path: Path, patience_s: float) -> AsyncIterator[float]:
    """Hold the claim that this file stands for; the seconds that it took, 0 where nobody else held it.

    Without a claim it goes on too, after `patience_s` and where the disk takes no file: a question that is asked twice
    costs its price, and one that is never asked costs the run.
    """
    started, waited_s = time.monotonic(), 0.0
    claim = _try_claim(path)
    while claim is None and waited_s < patience_s:
        # Looked at in turn: a call that waits in the kernel would hold up the event loop.
        await asyncio.sleep(_LOOK_EVERY_S)
        claim, waited_s = _try_claim(path), time.monotonic() - started
    try:
        yield waited_s
    finally:
        if claim is not None and claim != _NOT_POSSIBLE:
            _give_up(path, claim)


def _give_up(path: Path, claim: int) -> None:
    """End the claim, its file first: by that, whoever opened it meanwhile sees that its lock stands for nothing."""
    with contextlib.suppress(OSError):
        path.unlink()
    os.close(claim)


def _try_claim(path: Path) -> int | None:
    """The descriptor that holds the claim, None where another holds it, `_NOT_POSSIBLE` where none can be held."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return _NOT_POSSIBLE
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = os.fstat(descriptor).st_ino == path.stat().st_ino
    except (BlockingIOError, FileNotFoundError):
        is_ours = False
    except OSError:  # a file system without locks
        os.close(descriptor)
        return _NOT_POSSIBLE
    if is_ours:
        return descriptor
    os.close(descriptor)  # the holder before has removed the file that this is the lock of
    return None


# Paid replies, kept on disk before anybody sees them: a run that was killed goes on without paying again.

REPLIES = "replies"
"""The kind of their entries in the store."""
_CLAIMS = "asking"


class RememberedModel:
    """A model that asks nothing twice.

    `mode`: "auto" reads and writes the store, "override" asks anew and overwrites, "disable" leaves the store alone.
    `scope` sets apart models of one name at different addresses.
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
        """See `Model`. The same question, asked at the same time by another task or process, is paid for once."""
        if self._mode == "disable":
            return await self._model.complete(request)
        key = self._key(request)
        if self._mode == "override":
            return await self._ask(key, request)
        return self._find(key) or await self._find_or_ask(key, request)

    async def _find_or_ask(self, key: str, request: ModelRequest) -> ModelReply:
        async with claimed(self._store.path(_CLAIMS, key).with_suffix(""), request.deadline_s) as waited_s:
            return self._find(key) or await self._ask(key, _sooner(request, waited_s))

    def _find(self, key: str) -> ModelReply | None:
        found = self._store.get(REPLIES, key, ModelReply)
        return found and found.model_copy(update={"is_reused": True})

    async def _ask(self, key: str, request: ModelRequest) -> ModelReply:
        reply = await self._model.complete(request)
        # Before anybody sees it: it is paid for.
        self._store.keep(REPLIES, key, reply)
        return reply

    def _key(self, request: ModelRequest) -> str:
        # How long to wait for the answer is no part of the question.
        return digest(self.name, self._scope, request.model_dump(mode="json", exclude={"deadline_s"}))


def _sooner(request: ModelRequest, waited_s: float) -> ModelRequest:
    """The request with what is left of its deadline after waiting for another who asked the same, in vain."""
    if not waited_s:
        return request
    return request.model_copy(update={"deadline_s": max(request.deadline_s - waited_s, 0.001)})
