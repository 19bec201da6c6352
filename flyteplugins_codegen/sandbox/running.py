"""From how a job's process ended to what is said of the job."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from flyteplugins_codegen.sandbox.collect import Harvest, take_outputs
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Status
from flyteplugins_codegen.sandbox.kernel.cgroups import Cgroup, CgroupUsage
from flyteplugins_codegen.sandbox.kernel.limits import Census
from flyteplugins_codegen.sandbox.process import Guard, Watch


class Kept(Protocol):
    """What is left of a stream."""

    @property
    def kept(self) -> bytes:
        """The first bytes."""

    @property
    def cut(self) -> int:
        """How many were dropped."""


class Streams(Protocol):
    """What a job wrote."""

    @property
    def stdout(self) -> Kept:
        """To its standard output."""

    @property
    def stderr(self) -> Kept:
        """To its standard error."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The raw wait status of the command, what it used, and why the sandbox had to end it, if it had to.

    `oom_kills` counts those of its processes that the kernel killed for memory, where a control group counts them.
    """

    wait_status: int
    cpu_s: float
    peak_memory_mib: float
    cut_short: Status | None
    oom_kills: int = 0

    def counted(self, usage: CgroupUsage) -> Ending:
        """The same, with what a control group counted of all processes together."""
        cpu_s = self.cpu_s if usage.cpu_s is None else usage.cpu_s
        peak = self.peak_memory_mib if usage.peak_memory_mib is None else usage.peak_memory_mib
        return replace(self, cpu_s=cpu_s, peak_memory_mib=peak, oom_kills=usage.oom_kills)


def read_ending(watch: Watch, cut_short: Status | None) -> Ending:
    """Take the reaper's report where there is one.

    A job may scribble on its reaper's pipe, or end its reaper. It can misstate its own end so, as it can by exiting
    with another code; it cannot make its end look like a failure of the sandbox: this falls back to the exit code.
    """
    last = watch.report.kept.rstrip(b"\n").rpartition(b"\n")[2].split(b" ")
    try:
        status, cpu_s, peak_kib = int(last[0]), float(last[1]), int(last[2])
        os.waitstatus_to_exitcode(status)
    except (ValueError, IndexError):
        return Ending(_as_wait_status(watch.process.returncode), watch.cpu_s, 0.0, cut_short)
    return Ending(status, cpu_s, peak_kib / 1024, cut_short)


def _as_wait_status(returncode: int) -> int:
    number = -returncode if returncode < 0 else returncode - 128
    return number if number in set(signal.Signals) else (returncode & 0xFF) << 8


def describe(job: Job, streams: Streams, ending: Ending, harvest: Harvest, *, full: bool) -> Execution:
    """The execution, apart from its wall time and isolation. `full`: no room was left for outputs at the end."""
    known: dict[str, Any] = {}
    if ending.cut_short is None:
        code = os.waitstatus_to_exitcode(ending.wait_status)
        known = {"exit_code": code} if code >= 0 else {"signal": -code}
    return Execution(
        status=_status(job.limits, ending, harvest, full=full),
        **known,
        stdout=streams.stdout.kept,
        stderr=streams.stderr.kept,
        stdout_cut=streams.stdout.cut,
        stderr_cut=streams.stderr.cut,
        outputs=harvest.outputs,
        missing_outputs=harvest.missing,
        refused_outputs=harvest.refused,
        cpu_s=ending.cpu_s,
        peak_memory_mib=ending.peak_memory_mib,
    )


def _status(limits: Limits, ending: Ending, harvest: Harvest, *, full: bool) -> Status:
    """What is certain. A lack of memory is not, unless a control group counted a kill for it, or it was measured.

    A MemoryError is the program's own, and a SIGKILL may have come from anywhere. A job that lost a process to its
    memory limit and ended well all the same has ended well.
    """
    code = os.waitstatus_to_exitcode(ending.wait_status)
    if ending.oom_kills and (ending.cut_short or code != 0):
        return "out_of_memory"
    if ending.cut_short:
        return ending.cut_short
    if _ran_out_of_cpu(limits, ending, -code):
        return "timed_out"
    if harvest.exceeded or -code == signal.SIGXFSZ or (full and code != 0):
        return "output_limit"
    return "signaled" if code < 0 else "exited"


def _ran_out_of_cpu(limits: Limits, ending: Ending, number: int) -> bool:
    if limits.cpu_s is None:
        return False
    return number == signal.SIGXCPU or (number == signal.SIGKILL and ending.cpu_s >= limits.cpu_s)


def failure_message(watch: Watch, job: Job) -> str:
    """Why a job could not be started. None of its own code has run yet, so nothing of this is its output."""
    if watch.report.kept.startswith(b"unstartable"):
        return f"the command {job.command[0]!r} is not there to be run in the sandbox"
    reason = watch.stderr.kept.decode(errors="replace").strip()
    return reason or f"the sandbox did not start (exit status {watch.process.returncode})"


# What ends a job before its time because it must be measured: the kernel ends no job by itself there.

_SHORTEST_PAUSE_S = 0.01


def guards_of(limits: Limits, group: Cgroup | None, census: Census) -> list[Guard]:
    """Those that a job with these limits needs: where a group holds its memory, its processor time is left at most."""
    if group is None or "cgroup-memory" not in group.layers:
        return [partial(census.guard, limits)]
    return [] if limits.cpu_s is None else [partial(_guard_cpu, limits.cpu_s, group.cpu_s)]


def _guard_cpu(limit_s: float, used_s: Callable[[], float | None]) -> Status | float:
    """With every processor at work, the rest is used up after the pause at the earliest."""
    left_s = limit_s - (used_s() or 0.0)
    return "timed_out" if left_s <= 0 else max(_SHORTEST_PAUSE_S, left_s / (os.cpu_count() or 1))


# A job that is all laid out and waits: from here on, how it was made does not matter.


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
