"""Control groups of jobs: what limits and counts all processes of a job together.

A job gets one group in each hierarchy that serves it. Whether one can be made is tried, by making one and putting a
process into it. Groups go when their job has ended; those that a killed process of ours left go when the next begins.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from subprocess import DEVNULL, PIPE, Popen
from threading import Lock
from typing import Final

from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.sandbox.kernel.delegation import find_parent, passed_on
from flyteplugins_codegen.sandbox.kernel.group import Group, Place
from flyteplugins_codegen.sandbox.kernel.hierarchies import Hierarchy, read_hierarchies
from flyteplugins_codegen.sandbox.owner import is_abandoned, owned_prefix

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
