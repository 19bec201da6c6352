"""The limits of a job without control groups: resource limits for each process, readings of /proc for all together.

The kernel enforces the resource limits. What all processes use together is measured some times a second, so a job can
exceed these limits by what it takes between two readings.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from flyteplugins_codegen.sandbox.contract import Limits, Status
from flyteplugins_codegen.sandbox.kernel.cgroups import JobUsage

_EXTRA_ADDRESS_SPACE_MIB = 1024
_HELD_BY_GROUPS: Final = {"cgroup-memory": {"DATA", "AS"}, "cgroup-cpu": {"CPU"}}
_PAUSE_S: Final = 0.1
_MAX_ENTRIES: Final = 100_000  # files of one folder in memory; its size in bytes does not limit them
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_KIB_PER_MIB: Final = 1024


def render_rlimits(limits: Limits, layers: Collection[str] = ()) -> str:
    """A job's limits as resource limits (getrlimit(2)), in the form that our init reads: `NAME=SOFT:HARD,...`.

    They hold for each process; NPROC for each user of the namespace. What one of `layers` limits for all processes
    together is left out. DATA counts private writable memory, so it is the memory limit. AS also limits shared memory,
    but it counts what allocators and thread stacks only reserve (numpy and pyarrow some GiB), so it is set well above.
    """
    data = limits.memory_mib << 20
    values = {
        "DATA": (data, data),
        "AS": (2 * data + (_EXTRA_ADDRESS_SPACE_MIB << 20),) * 2,
        "NPROC": (limits.processes,) * 2,
        "NOFILE": (limits.open_files,) * 2,
        "FSIZE": (limits.file_mib << 20,) * 2,
        "CORE": (0, 0),
    }
    if limits.cpu_s is not None:
        seconds = math.ceil(limits.cpu_s)
        values["CPU"] = (seconds, seconds + 1)  # SIGXCPU, then SIGKILL to a job that ignores it
    omitted = set[str]().union(*(_HELD_BY_GROUPS.get(layer, ()) for layer in layers))
    return ",".join(f"{name}={soft}:{hard}" for name, (soft, hard) in values.items() if name not in omitted)


class ProcessTree:
    """The processes of a job: `first`, which adopts orphans, and its descendants. `folders` are the job's in memory."""

    def __init__(self, first: int, folders: Iterable[str]) -> None:
        self._first = first
        self._folders = tuple(folders)

    def guard(self, limits: Limits) -> Status | float:
        """Why the job has to be ended now, or in how many seconds to call again."""
        if limits.cpu_s is not None and self.cpu_s() > limits.cpu_s:
            return "timed_out"
        if self._memory_mib("status", ("RssAnon:", "RssShmem:")) > limits.memory_mib < self.memory_mib():
            return "out_of_memory"
        if any(_count_entries(folder) > _MAX_ENTRIES for folder in self._folders):
            return "output_limit"
        return _PAUSE_S

    def usage(self) -> JobUsage:
        """What is used now; without numbers if the job has ended."""
        if not _children(self._first):
            return JobUsage(None, None, 0)
        return JobUsage(self.cpu_s(), self.memory_mib(), 0)

    def cpu_s(self) -> float:
        """The CPU time of all living processes, and of the ended ones that they have waited for."""
        return sum(map(_ticks, self._members())) / _TICKS_PER_S

    def memory_mib(self) -> float:
        """The memory of all together, with shared memory counted once, which takes the kernel a while."""
        return self._memory_mib("smaps_rollup", ("Pss_Anon:", "Pss_Shmem:"))

    def _memory_mib(self, file: str, names: tuple[str, ...]) -> float:
        return sum(_sum_of(f"/proc/{pid}/{file}", names) for pid in self._members()) / _KIB_PER_MIB

    def _members(self) -> Iterator[int]:
        pending = [self._first]
        while pending:
            pid = pending.pop()
            yield pid
            pending += _children(pid)


def _children(pid: int) -> list[int]:
    threads = []
    with suppress(OSError):
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - called some thousand times a second
    return [int(child) for thread in threads for child in _read(f"/proc/{pid}/task/{thread}/children").split()]


def _ticks(pid: int) -> int:
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:15]))  # its own in user and kernel mode, and those of the children that it waited for


def _sum_of(path: str, names: tuple[str, ...]) -> int:
    lines = (line.split() for line in _read(path).splitlines())
    return sum(int(line[1]) for line in lines if line and line[0] in names)


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:  # it has ended
        return ""


def _count_entries(folder: str) -> int:
    try:
        status = os.statvfs(folder)
    except OSError:  # it is gone with the job
        return 0
    return status.f_files - status.f_ffree
