"""The session with our init program in a container: what it is sent, and the frames that it sends.

Its standard output passes through the engine, and nothing in it is trusted: the size of a frame is bounded, and what is
not a frame ends the session. `init` lists the kinds of frames.
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
_MAX_FRAME_BYTES = 1 << 20
_READ_BYTES = 1 << 18
_WRITE_BYTES = 1 << 16
_ERRORS_BYTES = 1 << 16
_ERRORS_S = 10.0
_LONGEST_WAIT_S = 3600.0  # systems accept no longer time-out
_END_S = 10.0  # to kill all processes of a job and read what remains in its pipes
_SILENCE_S = 60.0  # between two pieces of its outputs


@dataclass(frozen=True, slots=True, kw_only=True)
class InitSettings:
    """One job, as our init program in the container needs it. `seccomp` is the path of the filter, or empty."""

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


def encode_opening(settings: InitSettings, stdin: bytes) -> bytes:
    """The settings and the job's stdin, each after its length in 8 bytes."""
    text = json.dumps(asdict(settings)).encode()
    return b"".join(len(part).to_bytes(8, "big") + part for part in (text, stdin))


@dataclass(frozen=True, slots=True)
class Frame:
    """One message from a container."""

    kind: bytes
    payload: bytes


class SessionEndedError(SandboxError):
    """The container ended, or sent something that is not a valid frame, before the session was complete."""


class StuckError(SessionEndedError):
    """The container did not end its job on request."""


@dataclass(slots=True)
class ReceivedStream:
    """The first bytes of a stream. Init sends no more than fits, but this does not rely on it."""

    room: int
    content: bytearray = field(default_factory=bytearray)
    cut: int = 0

    @property
    def kept(self) -> bytes:
        """The bytes that came first."""
        return bytes(self.content)

    def add(self, content: bytes) -> None:
        """Keep what fits."""
        self.content += content[: self.room - len(self.content)]


class ContainerSession:
    """Follows one job in its container; call the methods in the order in which they are defined."""

    def __init__(self, frames: FrameStream, job: Job) -> None:
        self._frames = frames
        self._job = job
        self.stdout, self.stderr = (ReceivedStream(job.limits.stream_kib << 10) for _ in range(2))
        self.wall_s = 0.0
        self.outputs_are_full = False

    def wait_begun(self, timeout_s: float) -> None:
        """Wait until the job has begun. Raises SessionEndedError with the reason if it does not begin."""
        frame = self._frames.next_frame(time.monotonic() + timeout_s)
        if frame is None:
            raise SessionEndedError(f"no container had begun after {timeout_s:g} s")
        if frame.kind == b"X":
            raise SessionEndedError(f"the command {self._job.command[0]!r} is not there to be run in the container")
        if frame.kind != b"R":
            raise SessionEndedError(f"no job can begin in the container: {frame.payload.decode(errors='replace')}")

    def wait_ended(self) -> Ending:
        """Wait for the end of the job, and end it when its time is over.

        Raises SessionEndedError; StuckError if the job is not ended then.
        """
        frame = self._read_streams(time.monotonic() + self._job.limits.wall_s)
        in_time = frame is not None
        if frame is None:
            self._frames.end_job()
            frame = self._read_streams(time.monotonic() + _END_S)
        if frame is None:
            raise StuckError("the container did not end its job")
        try:
            return self._read_report(json.loads(frame.payload), in_time=in_time)
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise SessionEndedError("the container did not tell how its job ended") from error

    def outputs(self) -> Iterator[Frame]:
        """The frames that describe the outputs, up to the last. Raises SessionEndedError."""
        while True:
            frame = self._frames.next_frame(time.monotonic() + _SILENCE_S)
            if frame is None:
                raise SessionEndedError("the container stopped handing out outputs")
            if frame.kind == b"Z":
                return
            yield frame

    def _read_streams(self, deadline: float) -> Frame | None:
        """The frame with the report of the job's end; None if the deadline has passed first."""
        streams = {b"O": self.stdout, b"E": self.stderr}
        while frame := self._frames.next_frame(deadline):
            if frame.kind == b"D":
                return frame
            if frame.kind not in streams:
                raise SessionEndedError("the container said something that does not belong here")
            streams[frame.kind].add(frame.payload)
        return None

    def _read_report(self, report: Mapping[str, Any], *, in_time: bool) -> Ending:
        self.stdout.cut, self.stderr.cut = map(int, report["cut"])
        self.wall_s = float(report["wall_s"])  # measured inside: an engine may pass frames on late
        self.outputs_are_full = bool(report["full"])
        ended_well = in_time and not report["used_its_cpu"]
        ending = Ending(
            wait_status=int(report["wait_status"]),
            cpu_s=float(report["cpu_s"]),
            peak_memory_mib=int(report["peak_bytes"]) / (1 << 20),
            cut_short=None if ended_well else "timed_out",
            oom_kills=int(report["oom_kills"]),
        )
        os.waitstatus_to_exitcode(ending.wait_status)  # ValueError if it is none
        return ending


class FrameStream:
    """The frames from one container, over the pipes of its `podman run` or `docker run` process."""

    def __init__(self, process: Popen[bytes], opening: bytes) -> None:
        """`opening` is sent to the container as soon as it reads."""
        self._process = process
        self._unsent = memoryview(opening)
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
        """The exit status of the engine: 137 if process 1 was killed; None while it runs."""
        return self._process.poll()

    def next_frame(self, deadline: float) -> Frame | None:
        """The next frame; None if the deadline has passed first. Raises SessionEndedError."""
        while True:
            frame = self._parse()
            if frame is not None:
                return frame
            if not self._wait(deadline):
                return None

    def end_job(self) -> None:
        """Ask init to end the job; its outputs are still sent."""
        with suppress(OSError):  # the container has ended
            self._input.write(b"k")

    def let_go(self) -> None:
        """Let the container end, with everything that runs in it."""
        with suppress(OSError):
            self._input.close()

    def close(self) -> None:
        """Stop reading. An engine that still has output of the job must not wait for a reader."""
        self.let_go()
        self._selector.close()
        self._output.close()

    def _wait(self, deadline: float) -> bool:
        """Read more; False if the deadline has passed. Raises SessionEndedError at the end of the output."""
        if self._output.fileno() not in self._selector.get_map():
            raise SessionEndedError(f"the container has ended: {self._engine_error()}")
        if time.monotonic() >= deadline:
            return False
        self._step(deadline)
        return True

    def _engine_error(self) -> str:
        """The engine's standard error, to which nothing of the job's is written, or its exit status."""
        deadline = time.monotonic() + _ERRORS_S
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
        """Read or write what is possible now; False if there will be no more."""
        if descriptor == self._output.fileno():
            return self._take()
        if descriptor == self._errors.descriptor:
            return self._errors.take()
        return self._send()

    def _send(self) -> bool:
        try:
            self._unsent = self._unsent[os.write(self._input.fileno(), self._unsent[:_WRITE_BYTES]) :]
        except BrokenPipeError:  # the engine has ended; its standard error says why
            return False
        return bool(self._unsent)

    def _take(self) -> bool:
        chunk = os.read(self._output.fileno(), _READ_BYTES)
        self._read += chunk
        return bool(chunk)

    def _parse(self) -> Frame | None:
        if len(self._read) < _HEAD_BYTES:
            return None
        size = int.from_bytes(self._read[1:_HEAD_BYTES], "big")
        if size > _MAX_FRAME_BYTES:
            raise SessionEndedError("the container said something that is no message")
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
