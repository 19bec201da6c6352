"""A job that is all laid out and waits: from here on, how it was made does not matter."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from flyteplugins_codegen.sandbox.census import Census
from flyteplugins_codegen.sandbox.cgroups import Cgroup
from flyteplugins_codegen.sandbox.contract import Execution, Job
from flyteplugins_codegen.sandbox.ending import describe, read_ending
from flyteplugins_codegen.sandbox.guards import guards_of
from flyteplugins_codegen.sandbox.harvest import take_outputs
from flyteplugins_codegen.sandbox.process import Watch


@dataclass(frozen=True, slots=True)
class HeldJob:
    """`first` is process 1 of the job, which starts its command at the `release`, and reports on it to the `watch`.

    `outputs` is a descriptor of its /var/outputs, `folders` are its folders in memory, as paths of this machine.
    """

    job: Job
    first: int
    watch: Watch
    outputs: int
    folders: tuple[str, ...]
    release: Callable[[], object]

    def run(self, group: Cgroup | None, copies: Path) -> Execution:
        """Let it begin, hold it to its limits, and take what it leaves into `copies`. Raises OSError as these do."""
        limits, watch = self.job.limits, self.watch
        with ExitStack() as stack:
            process = os.pidfd_open(self.first)
            stack.callback(os.close, process)
            census = Census(self.first, self.folders)
            self.release()
            started = time.monotonic()
            cut_short = watch.wait_end(limits.wall_s, guards_of(limits, group, census))
            usage = (group or census).usage()
            if cut_short:
                _kill(process)
            watch.wait_gone()
        wall_s = time.monotonic() - started
        ending = read_ending(watch, cut_short).counted(usage)
        harvest = take_outputs(self.outputs, self.job, copies)
        full = os.fstatvfs(self.outputs).f_bavail == 0
        return replace(describe(self.job, watch, ending, harvest, full=full), wall_s=wall_s)


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):  # it has just ended by itself
        signal.pidfd_send_signal(process, signal.SIGKILL)
