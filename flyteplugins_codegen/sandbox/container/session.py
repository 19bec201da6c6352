"""Talking with process 1 of a container: the frames that come out of it, and what it is told.

Its standard output passes through the engine, and nothing that comes out is trusted: a frame is bounded, and what is no
frame ends the talk.
"""

from __future__ import annotations

import json
import os
import selectors
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from subprocess import Popen, TimeoutExpired
from typing import IO, Any

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.sandbox.container.engine import errors_in
from flyteplugins_codegen.sandbox.contract import Job
from flyteplugins_codegen.sandbox.process import Stream
from flyteplugins_codegen.sandbox.running import Ending

_HEAD_BYTES = 5
_LONGEST_BYTES = 1 << 20
_READ_BYTES = 1 << 18
_WRITE_BYTES = 1 << 16
_ERRORS_BYTES = 1 << 16
_LAST_WORDS_S = 10.0
_LONGEST_WAIT_S = 3600.0  # what a system takes as a time-out is bounded


@dataclass(frozen=True, slots=True)
class Frame:
    """One message; `reaper` says which kinds there are."""

    kind: bytes
    payload: bytes


class TalkEndedError(SandboxError):
    """The container ended, or said something that is no frame, before it had said all."""


class Talk:
    """One container's end of a conversation; its process is what `podman run` or `docker run` was started as."""

    def __init__(self, process: Popen[bytes], opening: bytes) -> None:
        """`opening` is what the container is told first, as soon as it listens."""
        self._process = process
        self._untold = memoryview(opening)
        self._input, self._output, errors = _pipes(process)
        self._errors = Stream(errors.fileno(), _ERRORS_BYTES)
        self._read = bytearray()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output.fileno(), selectors.EVENT_READ)
        self._selector.register(self._errors.descriptor, selectors.EVENT_READ)
        os.set_blocking(self._input.fileno(), False)
        self._selector.register(self._input.fileno(), selectors.EVENT_WRITE)

    @property
    def exit_status(self) -> int | None:
        """What the engine ended with: 137 where process 1 was killed; None while it runs."""
        return self._process.poll()

    def next_frame(self, deadline: float) -> Frame | None:
        """The next message; None when the deadline has passed first. Raises TalkEndedError."""
        while True:
            frame = self._parse()
            if frame is not None:
                return frame
            if not self._wait(deadline):
                return None

    def end_job(self) -> None:
        """Have the job ended; what it left is still handed out."""
        with suppress(OSError):  # it is gone
            self._input.write(b"k")

    def let_go(self) -> None:
        """Let the container end; all that runs in it ends with it."""
        with suppress(OSError):
            self._input.close()

    def close(self) -> None:
        """Stop listening. An engine that still has something to say of the job must not wait for a listener."""
        self.let_go()
        self._selector.close()
        self._output.close()

    def _wait(self, deadline: float) -> bool:
        """Read on. False when the deadline has passed; raises TalkEndedError at the end."""
        if self._output.fileno() not in self._selector.get_map():
            raise TalkEndedError(f"the container has ended: {self._last_words()}")
        if time.monotonic() >= deadline:
            return False
        self._step(deadline)
        return True

    def _last_words(self) -> str:
        """What the engine says on its standard error, where nothing of the job's goes, and how it ends."""
        deadline = time.monotonic() + _LAST_WORDS_S
        while self._errors.descriptor in self._selector.get_map() and time.monotonic() < deadline:
            self._step(deadline)
        with suppress(TimeoutExpired):
            self._process.wait(max(0.0, deadline - time.monotonic()))
        return errors_in(self._errors.kept.decode(errors="replace")) or f"exit status {self.exit_status}"

    def _step(self, deadline: float) -> None:
        for key, _ in self._selector.select(min(max(0.0, deadline - time.monotonic()), _LONGEST_WAIT_S)):
            if not self._act_on(key.fd):
                self._selector.unregister(key.fd)

    def _act_on(self, descriptor: int) -> bool:
        """Read or write what is possible now; False when there will be no more."""
        if descriptor == self._output.fileno():
            return self._take()
        if descriptor == self._errors.descriptor:
            return self._errors.take()
        return self._tell()

    def _tell(self) -> bool:
        try:
            self._untold = self._untold[os.write(self._input.fileno(), self._untold[:_WRITE_BYTES]) :]
        except BrokenPipeError:  # the engine has ended, and says why elsewhere
            return False
        return bool(self._untold)

    def _take(self) -> bool:
        chunk = os.read(self._output.fileno(), _READ_BYTES)
        self._read += chunk
        return bool(chunk)

    def _parse(self) -> Frame | None:
        if len(self._read) < _HEAD_BYTES:
            return None
        size = int.from_bytes(self._read[1:_HEAD_BYTES], "big")
        if size > _LONGEST_BYTES:
            raise TalkEndedError("the container said something that is no message")
        end = _HEAD_BYTES + size
        if len(self._read) < end:
            return None
        frame = Frame(bytes(self._read[:1]), bytes(self._read[_HEAD_BYTES:end]))
        del self._read[:end]
        return frame


def _pipes(process: Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise ValueError("the process was started without its pipes")
    return process.stdin, process.stdout, process.stderr


# Following one job in its container: begun, writing to its streams, ended, its outputs handed out.

_END_S = 10.0  # for killing all of a job and reading what is left in its pipes
_SILENCE_S = 60.0  # between two pieces of its outputs


class StuckError(TalkEndedError):
    """The container did not end its job when it was told to."""


@dataclass(slots=True)
class Heard:
    """The first bytes of a stream. Process 1 sends no more than there is room for, which is not relied on."""

    room: int
    content: bytearray = field(default_factory=bytearray)
    cut: int = 0

    @property
    def kept(self) -> bytes:
        """The bytes."""
        return bytes(self.content)

    def add(self, content: bytes) -> None:
        """Take what fits."""
        self.content += content[: self.room - len(self.content)]


class Hearing:
    """What one container says of its job, in the order in which it is asked for."""

    def __init__(self, talk: Talk, job: Job) -> None:
        self._talk = talk
        self._job = job
        self.stdout, self.stderr = (Heard(job.limits.stream_kib << 10) for _ in range(2))
        self.wall_s = 0.0
        self.outputs_are_full = False

    def wait_begun(self, timeout_s: float) -> None:
        """Wait until the job has begun. Raises TalkEndedError with the reason where it does not."""
        frame = self._talk.next_frame(time.monotonic() + timeout_s)
        if frame is None:
            raise TalkEndedError(f"no container had begun after {timeout_s:g} s")
        if frame.kind == b"X":
            raise TalkEndedError(f"the command {self._job.command[0]!r} is not there to be run in the container")
        if frame.kind != b"R":
            raise TalkEndedError(f"no job can begin in the container: {frame.payload.decode(errors='replace')}")

    def wait_ended(self) -> Ending:
        """Wait for the job's end, and have it ended at its time. Raises TalkEndedError, or StuckError then."""
        frame = self._listen(time.monotonic() + self._job.limits.wall_s)
        in_time = frame is not None
        if frame is None:
            self._talk.end_job()
            frame = self._listen(time.monotonic() + _END_S)
        if frame is None:
            raise StuckError("the container did not end its job")
        try:
            return self._read_report(json.loads(frame.payload), in_time=in_time)
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise TalkEndedError("the container did not tell how its job ended") from error

    def outputs(self) -> Iterator[Frame]:
        """The messages that follow, up to the last. Raises TalkEndedError."""
        while True:
            frame = self._talk.next_frame(time.monotonic() + _SILENCE_S)
            if frame is None:
                raise TalkEndedError("the container stopped handing out outputs")
            if frame.kind == b"Z":
                return
            yield frame

    def _listen(self, deadline: float) -> Frame | None:
        """The message that tells of the end; None when the deadline has passed first."""
        streams = {b"O": self.stdout, b"E": self.stderr}
        while frame := self._talk.next_frame(deadline):
            if frame.kind == b"D":
                return frame
            if frame.kind not in streams:
                raise TalkEndedError("the container said something that does not belong here")
            streams[frame.kind].add(frame.payload)
        return None

    def _read_report(self, told: Mapping[str, Any], *, in_time: bool) -> Ending:
        self.stdout.cut, self.stderr.cut = map(int, told["cut"])
        self.wall_s = float(told["wall_s"])  # an engine may pass on what is said some time later
        self.outputs_are_full = bool(told["full"])
        ended_well = in_time and not told["used_its_cpu"]
        ending = Ending(
            wait_status=int(told["wait_status"]),
            cpu_s=float(told["cpu_s"]),
            peak_memory_mib=int(told["peak_bytes"]) / (1 << 20),
            cut_short=None if ended_well else "timed_out",
            oom_kills=int(told["oom_kills"]),
        )
        os.waitstatus_to_exitcode(ending.wait_status)  # ValueError where it is none
        return ending


# What process 1 of a container is told of its job, before it starts it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One job, as `reaper` starts, limits and reads it. `seccomp` names the filter's file, or is empty."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    folder: str
    rlimits: str
    seccomp: str
    own_group: bool
    wall_s: float
    cpu_s: float | None
    stream_bytes: int
    outputs: tuple[str, ...] | None
    output_files: int
    output_bytes: int


def encode(settings: Settings, stdin: bytes) -> bytes:
    """The settings and what the job reads, each after its length in 8 bytes."""
    text = json.dumps(asdict(settings)).encode()
    return b"".join(len(part).to_bytes(8, "big") + part for part in (text, stdin))
