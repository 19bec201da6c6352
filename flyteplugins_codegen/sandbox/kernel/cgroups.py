"""Control groups of jobs: what limits and counts all processes of a job together.

A job gets one group in each hierarchy that serves it. Whether one can be made is tried, by making one and putting a
process into it. Groups go when their job has ended; those that a killed process of ours left go when the next begins.
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

# One control group in one hierarchy: the files of both versions, behind the same few questions (cgroups(7)).

_SUPERVISED = 1  # our own process among a job's
_GONE_S = 2.0  # how long killed processes may take to go
_RETRY_S = 0.001
_NO_SWAP = {1: ("memory.swappiness", "0"), 2: ("memory.swap.max", "0")}
_PEAK = {1: "memory.max_usage_in_bytes", 2: "memory.peak"}
_EVENTS = {1: "memory.oom_control", 2: "memory.events"}


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of one hierarchy in which groups can be made, and what they do there: of `memory`, `pids`, `cpu`.

    `own` is the folder of the group that we are in ourselves.
    """

    version: int
    folder: Path
    own: Path
    serves: frozenset[str]


class Group:
    """The group of that name, made if `new`. Raises OSError where it is not there, or none can be made."""

    def __init__(self, place: Place, name: str, *, new: bool = True) -> None:
        self._place = place
        self._path = place.folder / name
        if new:
            self._path.mkdir()
        self._folder = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)

    def limit(self, limits: Limits) -> None:
        """Set what its processes may use together. Raises OSError where the kernel refuses."""
        if "memory" in self._place.serves:
            self._limit_memory(str(limits.memory_mib << 20))
        if "pids" in self._place.serves:
            self._write("pids.max", str(limits.processes + _SUPERVISED))

    def add(self, pid: int) -> None:
        """Put a process, and all that it will start, into the group. Raises OSError where it has ended."""
        self._write("cgroup.procs", str(pid))

    def open_entry(self) -> int | None:
        """A descriptor for a process without threads, which is in at once when it writes `0` there; version 1 only.

        To put another process into a group, or one with threads, the kernel waits until each processor has passed a
        quiet state: up to 15 ms, unless it has just waited for another.
        """
        if self._place.version != 1:
            return None
        return os.open("tasks", os.O_WRONLY | os.O_CLOEXEC, dir_fd=self._folder)

    def prepare(self) -> None:
        """Have the wait over before a process is added, by a move that changes nothing: ours to where we are."""
        with suppress(OSError):  # not ours to change: then `add` waits
            _write_to(os.open(self._place.own / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC), "0")

    def cpu_s(self) -> float | None:
        """The processor time that all its processes have used; None where it is not counted here."""
        if "cpu" not in self._place.serves:
            return None
        if self._place.version == 1:
            return int(self._read("cpuacct.usage")) / 1e9
        return self._event("cpu.stat", "usage_usec") / 1e6

    def peak_memory_mib(self) -> float | None:
        """The most memory that was charged to it; None where it is not counted here, or by an old kernel."""
        try:
            return int(self._read(_PEAK[self._place.version])) / (1 << 20) if "memory" in self._place.serves else None
        except FileNotFoundError:
            return None

    def oom_kills(self) -> int:
        """How many of its processes the kernel has killed because its memory was used up."""
        return self._event(_EVENTS[self._place.version], "oom_kill") if "memory" in self._place.serves else 0

    def kill(self) -> None:
        """Kill every process in it, and those that they start meanwhile."""
        with suppress(OSError):
            self._write("pids.max", "0")  # so that the killing comes to an end
        try:
            self._write("cgroup.kill", "1")  # at once; Linux 5.14, version 2
        except OSError:
            for pid in self._members():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def remove(self, patience_s: float = _GONE_S) -> bool:
        """Remove it, and end what still runs in it; False where the kernel still has a process of it in its hands."""
        deadline = time.monotonic() + patience_s
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
        numbers = map(int, self._read("cgroup.procs").split())
        return (number for number in numbers if number)  # 0 stands for one of another process namespace

    def _limit_memory(self, size: str) -> None:
        optional = [_NO_SWAP[self._place.version]]
        if self._place.version == 1:
            self._write("memory.limit_in_bytes", size)
            optional += [("memory.memsw.limit_in_bytes", size)]
        else:
            self._write("memory.max", size)
            optional += [("memory.oom.group", "1")]  # a job of which one process was killed does not wait for it
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


_LAYERS: Final = {"memory": "cgroup-memory", "pids": "cgroup-processes", "cpu": "cgroup-cpu"}
_VERSION_1: Final = {"memory": "memory", "pids": "pids", "cpuacct": "cpu"}  # what is called how there
_WAITS_FOR_INPUT: Final = "/bin/cat"


@dataclass(frozen=True, slots=True)
class CgroupUsage:
    """What a job has used so far, all its processes together; None of what is not counted on this machine."""

    cpu_s: float | None
    peak_memory_mib: float | None
    oom_kills: int


class Cgroup:
    """The groups of one job. `layers` names what they hold it to, as in `Execution.isolation`."""

    def __init__(self, groups: tuple[Group, ...], layers: tuple[str, ...], lingering: Lingering) -> None:
        self.layers = layers
        self._groups = groups
        self._lingering = lingering

    def add(self, pid: int) -> None:
        """Put a process, and all that it will start, under the limits. Raises OSError where it has ended."""
        for group in self._groups:
            group.add(pid)

    def entries(self, stack: ExitStack) -> tuple[int, ...]:
        """Descriptors, closed with the stack, by which a process without threads puts itself under the limits.

        It writes `0` to each, which takes no time, where `add` may take many times that of a small job. None where the
        kernel offers no such way: there `prepare` early, and `add`.
        """
        found = [group.open_entry() for group in self._groups]
        entries = tuple(entry for entry in found if entry is not None)
        for entry in entries:
            stack.callback(os.close, entry)
        return entries if len(entries) == len(found) else ()

    def prepare(self) -> None:
        """Wait now for what the next `add` would wait for; done best while the process to be added is starting."""
        for group in self._groups:
            group.prepare()

    def usage(self) -> CgroupUsage:
        """What was used up to now."""
        peaks = (group.peak_memory_mib() for group in self._groups)
        peak = next((peak for peak in peaks if peak is not None), None)
        return CgroupUsage(self.cpu_s(), peak, sum(group.oom_kills() for group in self._groups))

    def cpu_s(self) -> float | None:
        """The processor time that was used up to now; None where it is not counted."""
        return next((used for group in self._groups if (used := group.cpu_s()) is not None), None)

    def close(self) -> None:
        """End what still runs of the job, and remove its groups: on a machine that is slow to, by the next job's."""
        for group in self._groups:
            if not group.remove():
                self._lingering.add(group)


class Lingering:
    """Groups whose processes were killed and have not gone yet. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._groups: list[Group] = []

    def add(self, group: Group) -> None:
        """Take one, to be removed when its processes are gone."""
        with self._lock:
            self._groups.append(group)

    def remove(self) -> None:
        """Remove those that can be by now."""
        if self._groups:
            with self._lock:
                self._groups = [group for group in self._groups if not group.remove(patience_s=0)]


class CgroupRoots:
    """Where this process makes the groups of its jobs. `layers` names what they will hold each job to."""

    def __init__(self, places: Iterable[Place]) -> None:
        self._places = tuple(places)
        served = frozenset[str]().union(*(place.serves for place in self._places))
        self.layers = tuple(layer for name, layer in _LAYERS.items() if name in served)
        self._numbers = count()
        self._lingering = Lingering()

    def open(self, limits: Limits) -> Cgroup:
        """Groups for one job. Raises OSError where the kernel makes none any more."""
        self._lingering.remove()
        name = f"{owned_prefix('job')}{next(self._numbers)}"
        with ExitStack() as stack:
            groups = tuple(_made(stack, place, name) for place in self._places)
            for group in groups:
                group.limit(limits)
            stack.pop_all()
        return Cgroup(groups, self.layers, self._lingering)


@cache
def find_cgroups() -> CgroupRoots | None:
    """Where groups can be made; None where nowhere. Tried once for each process, in some hundredths of a second."""
    places = [place for place in _places(read_hierarchies()) if _works(place)]
    for place in places:
        _sweep(place)
    return CgroupRoots(places) if places else None


def _places(hierarchies: Iterable[Hierarchy]) -> Iterator[Place]:
    """Of each controller the first place: version 1 has it or version 2, never both."""
    served = set[str]()
    for hierarchy in hierarchies:
        place = _place_in_version_1(hierarchy) if hierarchy.version == 1 else _place_in_version_2(hierarchy)
        serves = place.serves - served if place else None
        if place and serves:
            served |= serves
            yield replace(place, serves=serves)


def _place_in_version_1(hierarchy: Hierarchy) -> Place:
    serves = frozenset(ours for theirs, ours in _VERSION_1.items() if theirs in hierarchy.controllers)
    return Place(1, hierarchy.own, hierarchy.own, serves)


def _place_in_version_2(hierarchy: Hierarchy) -> Place | None:
    parent = find_parent(hierarchy)
    if parent is None:
        return None
    own = next(now.own for now in read_hierarchies() if now.mount == hierarchy.mount)  # we may have stepped aside
    return Place(2, parent, own, passed_on(parent) | {"cpu"})


def _works(place: Place) -> bool:
    """Whether a group can be made there, limited, filled, read and removed."""
    try:
        with ExitStack() as stack:
            group = _made(stack, place, f"{owned_prefix('trial')}0")
            group.limit(Limits())
            process = stack.enter_context(Popen([_WAITS_FOR_INPUT], stdin=PIPE, stdout=DEVNULL))
            group.add(process.pid)
            Cgroup((group,), (), Lingering()).usage()
    except OSError:
        return False
    return True


def _made(stack: ExitStack, place: Place, name: str) -> Group:
    group = Group(place, name)
    stack.callback(group.remove)
    return group


def _sweep(place: Place) -> None:
    """Remove what killed processes of ours have left there, and what still runs of it."""
    for name in [path.name for path in place.folder.iterdir() if is_abandoned(path.name)]:
        with suppress(OSError):  # another one sweeps too
            Group(place, name, new=False).remove()
