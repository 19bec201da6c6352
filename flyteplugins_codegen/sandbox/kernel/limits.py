"""Measuring a job where no control group does: its processes are found and read through /proc, some times a second.

What the kernel limits for each process alone (see `rlimits`) is so held for all of them together as well, if not to
the byte: what a job can take between two readings comes on top.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from flyteplugins_codegen.sandbox.contract import Limits, Status
from flyteplugins_codegen.sandbox.kernel.cgroups import CgroupUsage

_PAUSE_S: Final = 0.1
_MOST_ENTRIES: Final = 100_000  # files of one folder in memory, which its size in bytes does not bound
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_KIB_PER_MIB: Final = 1024


class Census:
    """The processes that descend from `first`, which adopts orphans, and the job's `folders` in memory."""

    def __init__(self, first: int, folders: Iterable[str]) -> None:
        self._first = first
        self._folders = tuple(folders)

    def guard(self, limits: Limits) -> Status | float:
        """Why the job is to be ended now, else in how many seconds to ask again."""
        if limits.cpu_s is not None and self.cpu_s() > limits.cpu_s:
            return "timed_out"
        if self._memory_mib("status", ("RssAnon:", "RssShmem:")) > limits.memory_mib < self.memory_mib():
            return "out_of_memory"
        if any(_count_entries(folder) > _MOST_ENTRIES for folder in self._folders):
            return "output_limit"
        return _PAUSE_S

    def usage(self) -> CgroupUsage:
        """What is used now; nothing is known of a job that has ended."""
        if not _children(self._first):
            return CgroupUsage(None, None, 0)
        return CgroupUsage(self.cpu_s(), self.memory_mib(), 0)

    def cpu_s(self) -> float:
        """The processor time of all that live, and of all that these have waited for."""
        return sum(map(_ticks, self._members())) / _TICKS_PER_S

    def memory_mib(self) -> float:
        """The memory of all together; what several share counts once, which takes the kernel a while to find out."""
        return self._memory_mib("smaps_rollup", ("Pss_Anon:", "Pss_Shmem:"))

    def _memory_mib(self, file: str, names: tuple[str, ...]) -> float:
        return sum(_sum_of(f"/proc/{pid}/{file}", names) for pid in self._members()) / _KIB_PER_MIB

    def _members(self) -> Iterator[int]:
        found = [self._first]
        while found:
            pid = found.pop()
            yield pid
            found += _children(pid)


def _children(pid: int) -> list[int]:
    threads = []
    with suppress(OSError):
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - names, some thousand times a second
    return [int(child) for thread in threads for child in _read(f"/proc/{pid}/task/{thread}/children").split()]


def _ticks(pid: int) -> int:
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:15]))  # its own in user and kernel mode, and those of children that it waited for


def _sum_of(path: str, names: tuple[str, ...]) -> int:
    lines = (line.split() for line in _read(path).splitlines())
    return sum(int(line[1]) for line in lines if line and line[0] in names)


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:  # it has ended meanwhile
        return ""


def _count_entries(folder: str) -> int:
    try:
        status = os.statvfs(folder)
    except OSError:  # it has gone with the job
        return 0
    return status.f_files - status.f_ffree


# A job's limits as the kernel's resource limits, which hold per process (NPROC: per user of the namespace).

_ADDRESS_SPACE_MIB = 1024
_OF_GROUPS: Final = {"cgroup-memory": {"DATA", "AS"}, "cgroup-cpu": {"CPU"}}


def render_rlimits(limits: Limits, layers: Collection[str] = ()) -> str:
    """As our reaper reads them: `NAME=SOFT:HARD,...`. What one of `layers` limits for all processes is left out.

    DATA counts private writable memory, so it is the memory limit. AS bounds shared memory too, but it also counts what
    allocators and thread stacks only reserve (numpy and pyarrow some GiB of it), so it is set well above.
    """
    data = limits.memory_mib << 20
    values = {
        "DATA": (data, data),
        "AS": (2 * data + (_ADDRESS_SPACE_MIB << 20),) * 2,
        "NPROC": (limits.processes,) * 2,
        "NOFILE": (limits.open_files,) * 2,
        "FSIZE": (limits.file_mib << 20,) * 2,
        "CORE": (0, 0),
    }
    if limits.cpu_s is not None:
        seconds = math.ceil(limits.cpu_s)
        values["CPU"] = (seconds, seconds + 1)  # SIGXCPU, then SIGKILL to a job that ignores it
    left_out = set[str]().union(*(_OF_GROUPS.get(layer, ()) for layer in layers))
    return ",".join(f"{name}={soft}:{hard}" for name, (soft, hard) in values.items() if name not in left_out)
