"""Following one job in its container: begun, writing to its streams, ended, its outputs handed out."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

from flyteplugins_codegen.sandbox.container_frames import Frame, Talk, TalkEndedError
from flyteplugins_codegen.sandbox.contract import Limits

_END_S = 20.0  # for killing all of a job and reading what is left in its pipes
_SILENCE_S = 60.0  # between two pieces of its outputs


@dataclass(frozen=True, slots=True)
class Report:
    """How a job ended and what it used, as process 1 of its container says."""

    wait_status: int
    cpu_s: float
    peak_memory_mib: float
    oom_kills: int
    ran_out_of_cpu: bool
    outputs_are_full: bool
    cut: tuple[int, int]
    in_time: bool


class StuckError(TalkEndedError):
    """The container did not end its job when it was told to."""


class _Kept:
    """The first bytes of a stream; process 1 sends no more than that, which is not relied on."""

    def __init__(self, room: int) -> None:
        self.kept = bytearray()
        self._room = room

    def add(self, content: bytes) -> None:
        self.kept += content[: self._room - len(self.kept)]


class Hearing:
    """What one container says of its job, in the order in which it is asked for."""

    def __init__(self, talk: Talk, limits: Limits) -> None:
        self._talk = talk
        self._limits = limits
        self._streams = {kind: _Kept(limits.stream_kib << 10) for kind in (b"O", b"E")}

    @property
    def stdout(self) -> bytes:
        """The first bytes of the job's standard output."""
        return bytes(self._streams[b"O"].kept)

    @property
    def stderr(self) -> bytes:
        """The first bytes of its standard error."""
        return bytes(self._streams[b"E"].kept)

    def wait_begun(self, timeout_s: float) -> Frame:
        """The first message: that the job has begun, or why not. Raises TalkEndedError."""
        frame = self._talk.next_frame(time.monotonic() + timeout_s)
        if frame is None:
            raise TalkEndedError(f"no container had begun after {timeout_s:g} s")
        return frame

    def wait_ended(self) -> Report:
        """Wait for the job's end, and have it ended at its time. Raises TalkEndedError, or StuckError then."""
        frame = self._listen(time.monotonic() + self._limits.wall_s)
        in_time = frame is not None
        if frame is None:
            self._talk.end_job()
            frame = self._listen(time.monotonic() + _END_S)
        if frame is None:
            raise StuckError("the container did not end its job")
        return _read_report(frame.payload, in_time=in_time)

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
        while frame := self._talk.next_frame(deadline):
            if frame.kind == b"D":
                return frame
            if frame.kind not in self._streams:
                raise TalkEndedError("the container said something that does not belong here")
            self._streams[frame.kind].add(frame.payload)
        return None


def _read_report(payload: bytes, *, in_time: bool) -> Report:
    try:
        told = json.loads(payload)
        out, err = told["cut"]
        return Report(
            wait_status=int(told["wait_status"]),
            cpu_s=float(told["cpu_s"]),
            peak_memory_mib=int(told["peak_bytes"]) / (1 << 20),
            oom_kills=int(told["oom_kills"]),
            ran_out_of_cpu=bool(told["used_its_cpu"]),
            outputs_are_full=bool(told["full"]),
            cut=(int(out), int(err)),
            in_time=in_time,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise TalkEndedError("the container did not tell how its job ended") from error
