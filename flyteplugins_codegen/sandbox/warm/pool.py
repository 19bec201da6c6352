"""The zygotes of one open sandbox: started when a job of their kind comes, replaced after some hundred jobs."""

from __future__ import annotations

import select
import socket
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from subprocess import Popen
from threading import Lock
from typing import Final

from flyteplugins_codegen.sandbox.contract import Job
from flyteplugins_codegen.sandbox.payload import ModuleArchive
from flyteplugins_codegen.sandbox.process import START_S

# Which jobs can run in the same zygote: those that start the same interpreter, on the same program, alike.

_INTERPRETERS: Final = ("python", "python3")
_HARMLESS_OPTIONS: Final = frozenset(("-u", "-B", "-O", "-OO", "-b", "-bb", "-q", "-s", "-P"))
# Where other libraries than ours may be loaded, or another interpreter found, a fresh process decides; and one that
# tells how it started must do so to its job.
_FRESH_VARIABLES: Final = ("PATH", "LD_", "MALLOC_", "GLIBC_", "PYTHONHOME", "PYTHONEXECUTABLE", "PYTHONINSPECT")
_TELLING_VARIABLES: Final = ("PYTHONVERBOSE", "PYTHONPROFILEIMPORTTIME")


@dataclass(frozen=True, slots=True)
class Kind:
    """What an interpreter is started with; a job of this kind adds only arguments.

    `command` begins the job's command: `python /app/main.py`. `variables` are the job's own, as pairs, since what an
    interpreter or a module reads at its start cannot be changed later. `modules` are those of ours that each of these
    jobs brings along, with their source.
    """

    command: tuple[str, ...]
    variables: frozenset[tuple[str, str]]
    modules: tuple[tuple[str, bytes], ...] = ()

    @property
    def env(self) -> Mapping[str, str]:
        """The variables by their names."""
        return dict(self.variables)

    def left_of(self, program: Mapping[str, Path | bytes]) -> Mapping[str, Path | bytes]:
        """What a job's process has to lay out of its program: all but the modules that the zygote has imported."""
        return {name: content for name, content in program.items() if not _imported_ahead(content)}


ANY: Final = Kind((), frozenset())
"""The kind of a zygote that jobs of every kind can run in, by executing their command."""


def kind_of(job: Job) -> Kind:
    """The narrowest kind that a job belongs to."""
    length = _length_of_start(job.command)
    if length == 0 or any(name.startswith((*_FRESH_VARIABLES, *_TELLING_VARIABLES)) for name in job.env):
        return ANY
    modules = tuple(module for content in job.program.values() for module in _imported_ahead(content))
    return Kind(job.command[:length], frozenset(job.env.items()), modules)


def _imported_ahead(content: Path | bytes) -> tuple[tuple[str, bytes], ...]:
    return content.imported_ahead if isinstance(content, ModuleArchive) else ()


def _length_of_start(command: tuple[str, ...]) -> int:
    """How many words say which program an interpreter runs, and how; 0 where that is not all that there is to it."""
    if command[0] not in _INTERPRETERS:
        return 0
    options = list(takewhile(_HARMLESS_OPTIONS.__contains__, command[1:]))
    target = command[1 + len(options) :]
    if target[:1] == ("-m",):
        return len(options) + 3 if len(target) > 1 else 0
    return len(options) + 2 if target and not target[0].startswith("-") else 0


_JOBS_EACH: Final = 500  # then another takes over, with other hash seeds, addresses and memory
_MOST_AT_ONCE: Final = 4  # each may hold a hundred MiB of imported modules
_JOBS_IDLE: Final = 100  # that run elsewhere before a zygote has to make room for one of another kind
_MOST_FAILURES: Final = 3


class Zygote:
    """One that waits for jobs; see `zygote.py` for the other end of `channel`."""

    def __init__(self, process: Popen[bytes], channel: socket.socket) -> None:
        self._process = process
        self._channel = channel
        channel.settimeout(START_S)

    def await_start(self) -> None:
        """Block until it has imported what it is to import. Raises OSError where it ends before, or takes too long."""
        if not self._channel.recv(1):
            said = self._process.communicate()[0].decode(errors="replace").strip()
            raise ConnectionResetError(f"a zygote ended while it started: {said}")

    def fork(self, control: socket.socket) -> None:
        """Have it fork a process that will hold this end of a connection. Raises OSError where it has ended."""
        socket.send_fds(self._channel, [b"j"], [control.fileno()])

    def has_ended(self) -> bool:
        """Whether it is gone; certain as soon as a process that it forked has ended of its end."""
        probe = select.poll()
        probe.register(self._channel, 0)
        return bool(probe.poll(0))

    def close(self) -> None:
        """End it, and with it every process that it forked."""
        self._channel.close()
        with self._process:  # which waits for it, and closes its pipe
            self._process.kill()


@dataclass(slots=True)
class _Place:
    """A zygote that runs or is coming; how many jobs use it now and have used it; when the last one came."""

    coming: Future[Zygote]
    users: int = 0
    served: int = 0
    last: int = 0


class Zygotes:
    """Those of one sandbox by kind; `start` makes one. Safe to use from several threads."""

    def __init__(self, start: Callable[[Kind], Zygote]) -> None:
        self._start = start
        self._lock = Lock()
        self._places = OrderedDict[Kind, _Place]()
        self._failures = Counter[Kind]()
        self._jobs = 0
        # bubblewrap ends what it runs with the *thread* that started it: these threads stay until `close`.
        self._starters = ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="zygotes")

    @contextmanager
    def lent(self, kind: Kind) -> Iterator[tuple[Kind, Zygote]]:
        """A zygote for one job, and its kind: the one asked for, or `ANY`.

        Raises OSError where none can be had. A connection that breaks in the block is taken for the zygote's fault.
        """
        kind, place = self._borrow(kind)
        try:
            yield kind, self._arrived(kind, place)
        except (ConnectionError, TimeoutError):
            self._blame(kind, place)
            raise
        else:
            self._failures.pop(kind, None)
        finally:
            self._give_back(kind, place)

    def close(self) -> None:
        """End them all."""
        with self._lock:
            places = list(self._places.values())
            self._places.clear()
        for place in places:
            self._end(place)
        self._starters.shutdown()

    def _borrow(self, kind: Kind) -> tuple[Kind, _Place]:
        with self._lock:
            self._jobs += 1
            if self._jobs % _JOBS_EACH == 0:
                self._failures.clear()  # a disk may be empty again
            kind = kind if self._has_room_for(kind) else ANY
            if self._failures[kind] >= _MOST_FAILURES:
                raise ConnectionResetError("no zygote starts here")
            place = self._places.get(kind)
            if place is None or place.served >= _JOBS_EACH:
                self._retire(kind)
                place = self._places[kind] = _Place(self._starters.submit(self._started, kind))
            place.users, place.served, place.last = place.users + 1, place.served + 1, self._jobs
            self._places.move_to_end(kind)
            return kind, place

    def _arrived(self, kind: Kind, place: _Place) -> Zygote:
        try:
            return place.coming.result()
        except OSError as error:
            raise ConnectionResetError(f"no zygote started for {kind.command}: {error}") from error

    def _started(self, kind: Kind) -> Zygote:
        zygote = self._start(kind)
        try:
            zygote.await_start()
        except OSError:
            zygote.close()
            raise
        return zygote

    def _has_room_for(self, kind: Kind) -> bool:
        """Whether a kind has a zygote or may get one, for which one that is idle has to go where they are many."""
        if self._failures[kind] >= _MOST_FAILURES:
            return False
        if kind in self._places or len(self._places) < _MOST_AT_ONCE:
            return True
        oldest, place = next(iter(self._places.items()))
        is_idle = place.users == 0 and self._jobs - place.last >= _JOBS_IDLE
        if is_idle:
            self._retire(oldest)
        return is_idle

    def _blame(self, kind: Kind, place: _Place) -> None:
        with self._lock:
            self._failures[kind] += 1
            if self._places.get(kind) is place:
                del self._places[kind]

    def _give_back(self, kind: Kind, place: _Place) -> None:
        with self._lock:
            place.users -= 1
            is_over = place.users == 0 and self._places.get(kind) is not place
        if is_over:
            self._end(place)

    def _retire(self, kind: Kind) -> None:
        place = self._places.pop(kind, None)
        if place is not None and place.users == 0:  # else the last user ends it
            self._starters.submit(self._end, place)

    def _end(self, place: _Place) -> None:
        with suppress(OSError):
            place.coming.result().close()
