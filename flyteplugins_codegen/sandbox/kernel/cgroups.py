"""Control groups of jobs: they limit and count all processes of a job together (cgroups(7), versions 1 and 2).

A job gets one group in each hierarchy that has one of the needed controllers. Whether groups can be made is tried, by
making one and putting a process into it. Groups are removed when their job has ended; those that a killed process of
ours left behind are removed when the next process of ours begins.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cache
from io import FileIO
from itertools import count
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Lock
from typing import Final

from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.sandbox.kernel.cgroup_mounts import Hierarchy, find_parent, passed_on, read_hierarchies
from flyteplugins_codegen.sandbox.temporary import is_abandoned, owned_prefix

_SUPERVISOR_PROCESSES = 1  # ours, among those of a job
_REMOVAL_S = 2.0  # how long killed processes may take to disappear
_RETRY_S = 0.001
_NO_SWAP = {1: ("memory.swappiness", "0"), 2: ("memory.swap.max", "0")}
_PEAK = {1: "memory.max_usage_in_bytes", 2: "memory.peak"}
_EVENTS = {1: "memory.oom_control", 2: "memory.events"}
_LAYERS: Final = {"memory": "cgroup-memory", "pids": "cgroup-processes", "cpu": "cgroup-cpu"}
_VERSION_1: Final = {"memory": "memory", "pids": "pids", "cpuacct": "cpu"}  # controllers by their names there
_WAITS_FOR_INPUT: Final = "/bin/cat"
_FINDING: Final = Lock()


@dataclass(frozen=True, slots=True)
class JobUsage:
    """What all processes of a job together have used so far; None for what is not counted."""

    cpu_s: float | None
    peak_memory_mib: float | None
    oom_kills: int


class Cgroup:
    """The groups of one job. `layers` names the limits that they enforce, as in `Execution.isolation`."""

    def __init__(self, groups: tuple[HierarchyGroup, ...], layers: tuple[str, ...], lingering: Lingering) -> None:
        self.layers = layers
        self._groups = groups
        self._lingering = lingering

    def add(self, pid: int) -> None:
        """Put a process, and all that it will start, under the limits. Raises OSError if it has ended."""
        for group in self._groups:
            group.add(pid)

    def entries(self, stack: ExitStack) -> tuple[int, ...]:
        """Descriptors, closed with the stack, by which a process without threads puts itself under the limits.

        It writes `0` to each. That takes no time, while `add` may take many times as long as a small job. Empty if the
        kernel offers no such way: then call `prepare` early, and `add`.
        """
        opened = [group.open_entry() for group in self._groups]
        entries = tuple(entry for entry in opened if entry is not None)
        for entry in entries:
            stack.callback(os.close, entry)
        return entries if len(entries) == len(opened) else ()

    def prepare(self) -> None:
        """Wait now for what the next `add` would wait for; best called while the process to add is starting."""
        for group in self._groups:
            group.prepare()

    def usage(self) -> JobUsage:
        """What has been used up to now."""
        peaks = (group.peak_memory_mib() for group in self._groups)
        peak = next((peak for peak in peaks if peak is not None), None)
        return JobUsage(self.cpu_s(), peak, sum(group.oom_kills() for group in self._groups))

    def cpu_s(self) -> float | None:
        """The CPU time used up to now; None if it is not counted."""
        return next((used for group in self._groups if (used := group.cpu_s()) is not None), None)

    def close(self) -> None:
        """End what still runs of the job, and remove its groups; those that cannot be removed yet, with a later job."""
        for group in self._groups:
            if not group.remove():
                self._lingering.add(group)


class Lingering:
    """Groups whose processes were killed but still exist. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._groups: list[HierarchyGroup] = []

    def add(self, group: HierarchyGroup) -> None:
        """Keep a group to remove when its processes are gone."""
        with self._lock:
            self._groups.append(group)

    def remove(self) -> None:
        """Remove the groups that can be removed by now."""
        if self._groups:
            with self._lock:
                self._groups = [group for group in self._groups if not group.remove(timeout_s=0)]


class CgroupRoots:
    """Makes the groups of jobs below these parents. `layers` names the limits that they will enforce."""

    def __init__(self, parents: Iterable[GroupParent]) -> None:
        self._parents = tuple(parents)
        served = frozenset[str]().union(*(parent.serves for parent in self._parents))
        self.layers = tuple(layer for name, layer in _LAYERS.items() if name in served)
        self._numbers = count()
        self._lingering = Lingering()

    def open(self, limits: Limits) -> Cgroup:
        """Make the groups of one job. Raises OSError if the kernel makes no more."""
        self._lingering.remove()
        name = f"{owned_prefix('job')}{next(self._numbers)}"
        with ExitStack() as stack:
            groups = tuple(_make_group(stack, parent, name) for parent in self._parents)
            for group in groups:
                group.limit(limits)
            stack.pop_all()
        return Cgroup(groups, self.layers, self._lingering)


@dataclass(frozen=True, slots=True)
class GroupParent:
    """A folder of one hierarchy in which groups can be made. `serves`: which of `memory`, `pids`, `cpu` they handle.

    `own` is the folder of the group that this process is in.
    """

    version: int
    folder: Path
    own: Path
    serves: frozenset[str]


class HierarchyGroup:
    """One group in one hierarchy, made if `new`. Raises OSError if it does not exist or cannot be made."""

    def __init__(self, parent: GroupParent, name: str, *, new: bool = True) -> None:
        self._parent = parent
        self._path = parent.folder / name
        if new:
            self._path.mkdir()
        self._folder = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)

    def limit(self, limits: Limits) -> None:
        """Set what its processes may use together. Raises OSError if the kernel refuses."""
        if "memory" in self._parent.serves:
            self._limit_memory(str(limits.memory_mib << 20))
        if "pids" in self._parent.serves:
            self._write("pids.max", str(limits.processes + _SUPERVISOR_PROCESSES))

    def add(self, pid: int) -> None:
        """Put a process, and all that it will start, into the group. Raises OSError if it has ended."""
        self._write("cgroup.procs", str(pid))

    def open_entry(self) -> int | None:
        """A descriptor with which a process without threads enters the group at once, by writing `0`; version 1 only.

        To put another process into a group, or one with threads, the kernel waits until each processor has passed a
        quiescent state: up to 15 ms, unless it has just waited for another process.
        """
        if self._parent.version != 1:
            return None
        return os.open("tasks", os.O_WRONLY | os.O_CLOEXEC, dir_fd=self._folder)

    def prepare(self) -> None:
        """Get the wait over before a process is added, by moving this process to the group in which it is already."""
        with suppress(OSError):  # this process may not do that: then `add` waits
            _write_to(os.open(self._parent.own / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC), "0")

    def cpu_s(self) -> float | None:
        """The CPU time that all its processes have used; None if this hierarchy does not count it."""
        if "cpu" not in self._parent.serves:
            return None
        if self._parent.version == 1:
            return int(self._read("cpuacct.usage")) / 1e9
        return self._event("cpu.stat", "usage_usec") / 1e6

    def peak_memory_mib(self) -> float | None:
        """The most memory that was charged to it; None if this hierarchy, or an old kernel, does not count it."""
        try:
            return int(self._read(_PEAK[self._parent.version])) / (1 << 20) if "memory" in self._parent.serves else None
        except FileNotFoundError:
            return None

    def oom_kills(self) -> int:
        """How many of its processes the kernel has killed for lack of memory."""
        return self._event(_EVENTS[self._parent.version], "oom_kill") if "memory" in self._parent.serves else 0

    def kill(self) -> None:
        """Kill every process in it, and those that they start meanwhile."""
        with suppress(OSError):
            self._write("pids.max", "0")  # no new processes, so that the killing comes to an end
        try:
            self._write("cgroup.kill", "1")  # at once; Linux 5.14, version 2
        except OSError:
            for pid in self._members():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def remove(self, timeout_s: float = _REMOVAL_S) -> bool:
        """End what still runs in it, and remove it; False if the kernel still keeps one of its processes."""
        deadline = time.monotonic() + timeout_s
        while not self._try_remove():
            self.kill()
            if time.monotonic() >= deadline:
                return False
            time.sleep(_RETRY_S)
        os.close(self._folder)
        return True

    def _try_remove(self) -> bool:
        try:
            self._path.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def _members(self) -> Iterator[int]:
        pids = map(int, self._read("cgroup.procs").split())
        return (pid for pid in pids if pid)  # 0 stands for a process of another namespace

    def _limit_memory(self, size: str) -> None:
        optional = [_NO_SWAP[self._parent.version]]
        if self._parent.version == 1:
            self._write("memory.limit_in_bytes", size)
            optional += [("memory.memsw.limit_in_bytes", size)]
        else:
            self._write("memory.max", size)
            optional += [("memory.oom.group", "1")]  # else a job could wait for its killed process
        for name, value in optional:
            with suppress(FileNotFoundError):  # a kernel without swap accounting, or an old one
                self._write(name, value)

    def _event(self, file: str, name: str) -> int:
        lines = (line.split() for line in self._read(file).splitlines())
        return next((int(value) for key, value in lines if key == name), 0)

    def _read(self, name: str) -> str:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._folder)
        with FileIO(descriptor) as file:
            return file.read().decode()

    def _write(self, name: str, text: str) -> None:
        _write_to(os.open(name, os.O_WRONLY | os.O_CLOEXEC, dir_fd=self._folder), text)


def _write_to(descriptor: int, text: str) -> None:
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def find_cgroups() -> CgroupRoots | None:
    """Where groups can be made, or None. Tried once in each process, which takes some hundredths of a second."""
    with _FINDING:  # two threads would give their groups the same names, and so take a controller for missing
        return _find_cgroups()


@cache
def _find_cgroups() -> CgroupRoots | None:
    parents = [parent for parent in _find_parents(read_hierarchies()) if _works(parent)]
    for parent in parents:
        _sweep(parent)
    return CgroupRoots(parents) if parents else None


def _find_parents(hierarchies: Iterable[Hierarchy]) -> Iterator[GroupParent]:
    """The first parent for each controller, which belongs to version 1 or to version 2, never to both."""
    served = set[str]()
    for hierarchy in hierarchies:
        parent = _parent_in_version_1(hierarchy) if hierarchy.version == 1 else _parent_in_version_2(hierarchy)
        serves = parent.serves - served if parent else None
        if parent and serves:
            served |= serves
            yield replace(parent, serves=serves)


def _parent_in_version_1(hierarchy: Hierarchy) -> GroupParent:
    serves = frozenset(ours for theirs, ours in _VERSION_1.items() if theirs in hierarchy.controllers)
    return GroupParent(1, hierarchy.own, hierarchy.own, serves)


def _parent_in_version_2(hierarchy: Hierarchy) -> GroupParent | None:
    parent = find_parent(hierarchy)
    if parent is None:
        return None
    own = next(now.own for now in read_hierarchies() if now.mount == hierarchy.mount)  # find_parent may have moved us
    return GroupParent(2, parent, own, passed_on(parent) | {"cpu"})


def _works(parent: GroupParent) -> bool:
    """Whether a group can be made there, limited, filled, read and removed."""
    try:
        with ExitStack() as stack:
            group = _make_group(stack, parent, f"{owned_prefix('probe')}0")
            group.limit(Limits())
            process = stack.enter_context(Popen([_WAITS_FOR_INPUT], stdin=PIPE, stdout=DEVNULL))
            group.add(process.pid)
            Cgroup((group,), (), Lingering()).usage()
    except OSError:
        return False
    return True


def _make_group(stack: ExitStack, parent: GroupParent, name: str) -> HierarchyGroup:
    group = HierarchyGroup(parent, name)
    stack.callback(group.remove)
    return group


def _sweep(parent: GroupParent) -> None:
    """Remove the groups that killed processes of ours left there, and end what still runs in them."""
    for name in [path.name for path in parent.folder.iterdir() if is_abandoned(path.name)]:
        with suppress(OSError):  # another process sweeps too
            HierarchyGroup(parent, name, new=False).remove()
