"""Running a prepared job from its release to its result, and turning the end of its process into an Execution."""

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

from flyteplugins_codegen.sandbox.collect import CollectedOutputs, collect_outputs
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Status
from flyteplugins_codegen.sandbox.kernel.cgroups import Cgroup, JobUsage
from flyteplugins_codegen.sandbox.kernel.limits import ProcessTree
from flyteplugins_codegen.sandbox.process import Guard, ProcessWatcher

_MIN_PAUSE_S = 0.01


class CapturedStream(Protocol):
    """What was captured of one stream."""

    @property
    def kept(self) -> bytes:
        """The first bytes."""

    @property
    def cut(self) -> int:
        """How many bytes after them were dropped."""


class CapturedStreams(Protocol):
    """What a job wrote to its standard streams."""

    @property
    def stdout(self) -> CapturedStream:
        """Its standard output."""

    @property
    def stderr(self) -> CapturedStream:
        """Its standard error."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The raw wait status of a job's command, the resources that it used, and why the sandbox ended it, if it did.

    `oom_kills` is how many of its processes the kernel killed for memory, if a control group counts them.
    """

    wait_status: int
    cpu_s: float
    peak_memory_mib: float
    cut_short: Status | None
    oom_kills: int = 0

    def with_usage(self, usage: JobUsage) -> Ending:
        """The same, with what was counted for all processes together."""
        cpu_s = self.cpu_s if usage.cpu_s is None else usage.cpu_s
        peak = self.peak_memory_mib if usage.peak_memory_mib is None else usage.peak_memory_mib
        return replace(self, cpu_s=cpu_s, peak_memory_mib=peak, oom_kills=usage.oom_kills)


def read_ending(watcher: ProcessWatcher, cut_short: Status | None) -> Ending:
    """The report of our init process, or, if there is none, the exit code of the process.

    A job may write to the pipe of its init process, or kill it. This way it can misstate its own end, as it can by
    exiting with another code; it cannot make its end look like a failure of the sandbox.
    """
    last = watcher.report.kept.rstrip(b"\n").rpartition(b"\n")[2].split(b" ")
    try:
        status, cpu_s, peak_kib = int(last[0]), float(last[1]), int(last[2])
        os.waitstatus_to_exitcode(status)
    except (ValueError, IndexError):
        return Ending(_as_wait_status(watcher.process.returncode), watcher.cpu_s, 0.0, cut_short)
    return Ending(status, cpu_s, peak_kib / 1024, cut_short)


def _as_wait_status(returncode: int) -> int:
    number = -returncode if returncode < 0 else returncode - 128
    return number if number in set(signal.Signals) else (returncode & 0xFF) << 8


def describe(
    job: Job, streams: CapturedStreams, ending: Ending, collected: CollectedOutputs, *, full: bool
) -> Execution:
    """The execution without its wall time and isolation; `full` says that no room for outputs was left at the end."""
    how_it_ended: dict[str, Any] = {}
    if ending.cut_short is None:
        code = os.waitstatus_to_exitcode(ending.wait_status)
        how_it_ended = {"exit_code": code} if code >= 0 else {"signal": -code}
    return Execution(
        status=_status(job.limits, ending, collected, full=full),
        **how_it_ended,
        stdout=streams.stdout.kept,
        stderr=streams.stderr.kept,
        stdout_cut=streams.stdout.cut,
        stderr_cut=streams.stderr.cut,
        outputs=collected.outputs,
        missing_outputs=collected.missing,
        refused_outputs=collected.refused,
        cpu_s=ending.cpu_s,
        peak_memory_mib=ending.peak_memory_mib,
    )


def _status(limits: Limits, ending: Ending, collected: CollectedOutputs, *, full: bool) -> Status:
    """The status as far as it is certain: `out_of_memory` only if a control group counted a kill, or it was measured.

    A MemoryError is the program's own, and a SIGKILL may have come from anywhere. A job that lost a process to its
    memory limit and still exited with 0 has exited.
    """
    code = os.waitstatus_to_exitcode(ending.wait_status)
    if ending.oom_kills and (ending.cut_short or code != 0):
        return "out_of_memory"
    if ending.cut_short:
        return ending.cut_short
    if _ran_out_of_cpu(limits, ending, -code):
        return "timed_out"
    if collected.exceeded or -code == signal.SIGXFSZ or (full and code != 0):
        return "output_limit"
    return "signaled" if code < 0 else "exited"


def _ran_out_of_cpu(limits: Limits, ending: Ending, number: int) -> bool:
    if limits.cpu_s is None:
        return False
    return number == signal.SIGXCPU or (number == signal.SIGKILL and ending.cpu_s >= limits.cpu_s)


def failure_message(watcher: ProcessWatcher, job: Job) -> str:
    """Why a job could not be started. None of its own code has run yet, so none of this is its output."""
    if watcher.report.kept.startswith(b"unstartable"):
        return f"the command {job.command[0]!r} is not there to be run in the sandbox"
    reason = watcher.stderr.kept.decode(errors="replace").strip()
    return reason or f"the sandbox did not start (exit status {watcher.process.returncode})"


def _guards_for(limits: Limits, group: Cgroup | None, process_tree: ProcessTree) -> list[Guard]:
    """The guards for limits that the kernel does not enforce: all without a memory group, else that on CPU time."""
    if group is None or "cgroup-memory" not in group.layers:
        return [partial(process_tree.guard, limits)]
    return [] if limits.cpu_s is None else [partial(_guard_cpu, limits.cpu_s, group.cpu_s)]


def _guard_cpu(limit_s: float, used_s: Callable[[], float | None]) -> Status | float:
    """The rest cannot be used up before the pause is over, even if all processors are at work."""
    remaining_s = limit_s - (used_s() or 0.0)
    return "timed_out" if remaining_s <= 0 else max(_MIN_PAUSE_S, remaining_s / (os.cpu_count() or 1))


@dataclass(frozen=True, slots=True)
class PreparedJob:
    """A job whose files are in place and whose init process waits, whether it was started or forked.

    `first` is process 1 of the job, which starts its command at the `release`, and reports on it to the `watcher`.
    `outputs` is a descriptor of its /var/outputs, `folders` are its folders in memory, as paths of this machine.
    """

    job: Job
    first: int
    watcher: ProcessWatcher
    outputs: int
    folders: tuple[str, ...]
    release: Callable[[], object]

    def run(self, group: Cgroup | None, copies: Path) -> Execution:
        """Start it, enforce its limits, and collect its outputs into `copies`. Raises OSError if one of these does."""
        limits, watcher = self.job.limits, self.watcher
        with ExitStack() as stack:
            process = os.pidfd_open(self.first)
            stack.callback(os.close, process)
            process_tree = ProcessTree(self.first, self.folders)
            self.release()
            started = time.monotonic()
            cut_short = watcher.wait_end(limits.wall_s, _guards_for(limits, group, process_tree))
            usage = (group or process_tree).usage()
            if cut_short:
                _kill(process)
            watcher.wait_gone()
        wall_s = time.monotonic() - started
        ending = read_ending(watcher, cut_short).with_usage(usage)
        collected = collect_outputs(self.outputs, self.job, copies)
        full = os.fstatvfs(self.outputs).f_bavail == 0
        return replace(describe(self.job, watcher, ending, collected, full=full), wall_s=wall_s)


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):  # it has just ended
        signal.pidfd_send_signal(process, signal.SIGKILL)
