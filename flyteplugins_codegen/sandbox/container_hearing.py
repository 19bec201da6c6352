"""Following one job in its container: begun, writing to its streams, ended, its outputs handed out."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from flyteplugins_codegen.sandbox.container_frames import Frame, Talk, TalkEndedError
from flyteplugins_codegen.sandbox.contract import Job
from flyteplugins_codegen.sandbox.ending import Ending

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
