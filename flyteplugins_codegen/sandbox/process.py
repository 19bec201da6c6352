"""Watching over one started process: its streams drained, its end noticed, its time limited."""

from __future__ import annotations

import math
import os
import selectors
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from flyteplugins_codegen.sandbox.contract import Status
from flyteplugins_codegen.sandbox.streams import Stream

_LINGER_S = 0.3  # for what is still in the pipes once the process has ended, though a descendant may hold them open
_LONGEST_WAIT_S = 3600.0  # what a system takes as a time-out is bounded
_POLL_S = 0.02  # where the system has no descriptor for a process's end (macOS)

Guard: TypeAlias = Callable[[], "Status | float"]
"""Asked while a job runs: why it is to be ended now, else in how many seconds to ask again."""


class Process(Protocol):
    """A process that is watched, ours or not."""

    returncode: Any

    @property
    def pid(self) -> int:
        """Its number."""

    def kill(self) -> None:
        """End it."""


class Watch:
    """A process and the pipes that it writes to. `report` is the pipe of our reaper."""

    def __init__(self, process: Process, stdout: Stream, stderr: Stream, report: Stream) -> None:
        self.process = process
        self.stdout = stdout
        self.stderr = stderr
        self.report = report
        self.ended = False
        self.cpu_s = 0.0
        self._selector = selectors.DefaultSelector()
        for stream in (stdout, stderr, report):
            self._selector.register(stream.descriptor, selectors.EVENT_READ, stream)
        self._exit = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else -1
        if self._exit >= 0:
            self._selector.register(self._exit, selectors.EVENT_READ)

    def close(self) -> None:
        """Kill the process if it still runs, and let go of it."""
        if not self.ended:
            self.process.kill()
            self._reap(block=True)
        self._selector.close()
        if self._exit >= 0:
            os.close(self._exit)

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait for the first line of the report; False when the process ended or the time passed before it came."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self.report.kept and not self.ended and time.monotonic() < deadline:
            self._step(deadline)
        if self.ended:
            self._linger()
        return self.report.kept.startswith(b"ready\n")

    def wait_gone(self) -> None:
        """Wait for the end of a process that was killed, or has ended, and take what is left in its pipes."""
        self._wait_until(math.inf)
        self._linger()

    def wait_end(self, timeout_s: float, guards: Sequence[Guard] = ()) -> Status | None:
        """Wait for the end of the process; why it is to be killed instead, when a guard says so or the time is over."""
        deadline = time.monotonic() + timeout_s
        while not self.ended:
            if time.monotonic() >= deadline:
                return "timed_out"
            pause_s = math.inf
            for answer in (guard() for guard in guards):
                if isinstance(answer, str):
                    return answer
                pause_s = min(pause_s, answer)
            self._wait_until(min(deadline, time.monotonic() + pause_s))
        return None

    def _wait_until(self, deadline: float) -> None:
        while not self.ended and time.monotonic() < deadline:
            self._step(deadline)

    def _linger(self) -> None:
        deadline = time.monotonic() + _LINGER_S
        while self._selector.get_map() and time.monotonic() < deadline:
            self._step(deadline)

    def _step(self, deadline: float) -> None:
        """Wait for the next event, at most until the deadline, and act on it."""
        longest = _LONGEST_WAIT_S if self._exit >= 0 else _POLL_S
        for key, _ in self._selector.select(max(0.0, min(deadline - time.monotonic(), longest))):
            if key.data is None:
                self._selector.unregister(key.fd)
                self._reap(block=True)
            elif not key.data.take():
                self._selector.unregister(key.fd)
        if self._exit < 0 and not self.ended:
            self._reap(block=False)

    def _reap(self, *, block: bool) -> None:
        pid, status, usage = os.wait4(self.process.pid, 0 if block else os.WNOHANG)
        if pid:
            self.process.returncode = os.waitstatus_to_exitcode(status)
            self.cpu_s = usage.ru_utime + usage.ru_stime
            self.ended = True
