"""Starting a command under our init process, and watching it: its streams are drained, its time is limited."""

from __future__ import annotations

import fcntl
import math
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from io import FileIO
from pathlib import Path
from typing import IO, Any, Final, Protocol, TypeAlias

from flyteplugins_codegen.sandbox import init
from flyteplugins_codegen.sandbox.contract import Limits, Status
from flyteplugins_codegen.sandbox.kernel.limits import render_rlimits
from flyteplugins_codegen.sandbox.payload import compact_source, module_path

START_S: Final = 30.0
"""How long a job's init process may take to start."""

_REPORT_BYTES = 1 << 16
_CHUNK_BYTES = 1 << 16
_LINGER_S = 0.3  # to read what is in the pipes after the end of the process: a descendant may hold them open
_LONGEST_WAIT_S = 3600.0  # systems accept no longer time-out
_POLL_S = 0.02  # on a system without a descriptor for the end of a process (macOS)

Guard: TypeAlias = Callable[[], "Status | float"]
"""Called while a job runs: returns why it has to be ended now, or in how many seconds to call again."""


class Stream:
    """One pipe that a job writes to. `cut` counts the bytes that came after `keep_bytes` and were dropped."""

    def __init__(self, descriptor: int, keep_bytes: int) -> None:
        self.descriptor = descriptor
        self.cut = 0
        self._room = keep_bytes
        self._kept = bytearray()

    @property
    def kept(self) -> bytes:
        """The bytes that came first."""
        return bytes(self._kept)

    def take(self) -> bool:
        """Read what is there now; False at the end of the stream."""
        chunk = os.read(self.descriptor, _CHUNK_BYTES)
        fitting = chunk[: self._room - len(self._kept)]
        self._kept += fitting
        self.cut += len(chunk) - len(fitting)
        return bool(chunk)


class Process(Protocol):
    """A process to watch, a child of ours or not."""

    returncode: Any

    @property
    def pid(self) -> int:
        """Its number."""


class ProcessWatcher:
    """Watches a process and the pipes that it writes to. `report` is the pipe of our init process."""

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
        """Kill the process if it still runs, and release what is held of it."""
        if not self.ended:
            os.kill(self.process.pid, signal.SIGKILL)  # Popen.kill reaps a process that has just ended
            self._reap(block=True)
        self._selector.close()
        if self._exit >= 0:
            os.close(self._exit)

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait for the first line of the report; False if the process ended or the time passed before it came."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self.report.kept and not self.ended and time.monotonic() < deadline:
            self._step(deadline)
        if self.ended:
            self._linger()
        return self.report.kept.startswith(b"ready\n")

    def wait_gone(self) -> None:
        """Wait for the end of a process that was killed or has ended, and read what remains in its pipes."""
        self._wait_until(math.inf)
        self._linger()

    def wait_end(self, timeout_s: float, guards: Sequence[Guard] = ()) -> Status | None:
        """Wait for the end of the process, or return why it has to be killed: a guard's status, or `timed_out`."""
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
        """Wait for the next events, at most until the deadline, and act on them."""
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


class JobLauncher:
    """Starts one job under our init process, with two pipes between us and it; `stack` ends and closes everything.

    Init sets those limits that none of `layers` sets, and enters the control groups of these `entries`.
    """

    def __init__(
        self, stack: ExitStack, limits: Limits, layers: Collection[str] = (), entries: tuple[int, ...] = ()
    ) -> None:
        self._stack = stack
        self._limits = limits
        self._entries = entries
        self._rlimits = render_rlimits(limits, layers)
        self._report, self._report_end = open_pipe(stack)
        self._hold_end, self._hold = open_pipe(stack)

    def init_command(self, executable: Path) -> list[str]:
        """The command that runs our init process; the job's own command has to follow it."""
        entries = ",".join(map(str, self._entries))
        channels = (str(self._report_end.fileno()), str(self._hold_end.fileno()), entries)
        return [str(executable), "-I", "-S", "-c", compact_source(module_path(init)), *channels, self._rlimits, "--"]

    def start(
        self,
        command: Sequence[str],
        *,
        stdin: int,
        env: Mapping[str, str],
        cwd: Path = Path("/"),
        inherited: Iterable[int] = (),
    ) -> ProcessWatcher:
        """Start a command that contains `init_command`.

        `cwd` must be open to the user that the command runs as. Raises OSError if the system cannot start it.
        """
        its_ends = (self._report_end, self._hold_end)
        process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(*(end.fileno() for end in its_ends), *self._entries, *inherited),
            env=env,
            cwd=cwd,
            umask=0o022,
            start_new_session=True,
        )
        self._stack.enter_context(process)
        for end in its_ends:
            end.close()  # so that the pipe ends with the process
        return self._stack.enter_context(closing(self._watch(process, self._limits.stream_kib << 10)))

    def release(self) -> None:
        """Let the job start."""
        self._hold.write(b"g")

    def _watch(self, process: subprocess.Popen[bytes], keep_bytes: int) -> ProcessWatcher:
        stdout, stderr = (Stream(_descriptor(pipe), keep_bytes) for pipe in (process.stdout, process.stderr))
        return ProcessWatcher(process, stdout, stderr, Stream(self._report.fileno(), _REPORT_BYTES))


def _descriptor(pipe: IO[bytes] | None) -> int:
    if pipe is None:
        raise ValueError("the process was started without its pipes")
    return pipe.fileno()


def open_pipe(stack: ExitStack) -> tuple[FileIO, FileIO]:
    """The reading and the writing end of a pipe, closed with the stack at the latest."""
    reading, writing = os.pipe()
    return stack.enter_context(FileIO(reading, "rb")), stack.enter_context(FileIO(writing, "wb"))


def memory_file(content: bytes) -> int:
    """A descriptor of a sealed file in memory with this content, at its start."""
    descriptor = os.memfd_create("codegen", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor
