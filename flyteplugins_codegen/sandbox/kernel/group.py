"""One control group in one hierarchy: the files of both versions, behind the same few questions (cgroups(7))."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from flyteplugins_codegen.sandbox.contract import Limits

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
