"""Starting a command under our reaper, which holds it until it is released."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from io import FileIO
from pathlib import Path
from typing import IO, Final

from flyteplugins_codegen.sandbox import reaper
from flyteplugins_codegen.sandbox.compact import compact_source
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.sandbox.process import Watch
from flyteplugins_codegen.sandbox.rlimits import render_rlimits
from flyteplugins_codegen.sandbox.streams import Stream

START_S: Final = 30.0
"""How long a job's reaper may take to start."""

_REPORT_BYTES = 1 << 16


class Launch:
    """The two pipes between us and the reaper of one job, and the start of its process. `stack` ends and closes all.

    The reaper sets those limits that none of `layers` sets, and enters the control group of these `entries`.
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

    def reaper_command(self, executable: Path) -> list[str]:
        """The command that runs our reaper; the job's own command follows it."""
        entries = ",".join(map(str, self._entries))
        channels = (str(self._report_end.fileno()), str(self._hold_end.fileno()), entries)
        return [str(executable), "-I", "-S", "-c", compact_source(reaper.__file__), *channels, self._rlimits, "--"]

    def start(
        self,
        command: Sequence[str],
        *,
        stdin: int,
        env: Mapping[str, str],
        cwd: Path = Path("/"),
        inherited: Iterable[int] = (),
    ) -> Watch:
        """Start a command that begins with, or leads to, a `reaper_command`.

        `cwd` must be open to the user that the command runs as. Raises OSError where the system has no room for it.
        """
        ours = (self._report_end, self._hold_end)
        process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(*(end.fileno() for end in ours), *self._entries, *inherited),
            env=env,
            cwd=cwd,
            umask=0o022,
            start_new_session=True,
        )
        self._stack.enter_context(process)
        for end in ours:
            end.close()  # so that the pipe ends with the process
        return self._stack.enter_context(closing(self._watch(process, self._limits.stream_kib << 10)))

    def release(self) -> None:
        """Let the job begin."""
        self._hold.write(b"g")

    def _watch(self, process: subprocess.Popen[bytes], keep_bytes: int) -> Watch:
        stdout, stderr = (Stream(_descriptor(pipe), keep_bytes) for pipe in (process.stdout, process.stderr))
        return Watch(process, stdout, stderr, Stream(self._report.fileno(), _REPORT_BYTES))


def _descriptor(pipe: IO[bytes] | None) -> int:
    if pipe is None:
        raise ValueError("the process was started without its pipes")
    return pipe.fileno()


def open_pipe(stack: ExitStack) -> tuple[FileIO, FileIO]:
    """The reading and the writing end of a pipe, closed with the stack at the latest."""
    reading, writing = os.pipe()
    return stack.enter_context(FileIO(reading, "rb")), stack.enter_context(FileIO(writing, "wb"))
