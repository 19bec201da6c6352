"""The zygotes of one open sandbox: each is started for the first job of its kind, and replaced after 500 jobs.

Jobs share a zygote if they start the same interpreter with the same options and variables on the same program.
"""

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

_INTERPRETERS: Final = ("python", "python3")
_HARMLESS_OPTIONS: Final = frozenset(("-u", "-B", "-O", "-OO", "-b", "-bb", "-q", "-s", "-P"))
# Variables that may load other libraries or find another interpreter need a fresh process; so do those that make an
# interpreter report how it started, since the report belongs to the job.
_FRESH_VARIABLES: Final = ("PATH", "LD_", "MALLOC_", "GLIBC_", "PYTHONHOME", "PYTHONEXECUTABLE", "PYTHONINSPECT")
_REPORTING_VARIABLES: Final = ("PYTHONVERBOSE", "PYTHONPROFILEIMPORTTIME")
_JOBS_EACH: Final = 500  # then another zygote takes over, with other hash seeds, addresses and memory
_MOST_AT_ONCE: Final = 4  # each may hold a hundred MiB of imported modules
_JOBS_IDLE: Final = 100  # jobs of other kinds, before a zygote has to make room for one of another kind
_MOST_FAILURES: Final = 3


@dataclass(frozen=True, slots=True)
class ZygoteKind:
    """How an interpreter is started; a job of this kind adds only arguments.

    `command` is the beginning of the job's command: `python /app/main.py`. `variables` are the job's own, as pairs,
    because what an interpreter or a module reads at its start cannot be changed later. `modules` are the names and
    sources of our modules that each of these jobs needs.
    """

    command: tuple[str, ...]
    variables: frozenset[tuple[str, str]]
    modules: tuple[tuple[str, bytes], ...] = ()

    @property
    def env(self) -> Mapping[str, str]:
        """The variables by their names."""
        return dict(self.variables)

    def files_to_write(self, program: Mapping[str, Path | bytes]) -> Mapping[str, Path | bytes]:
        """The files of a job's program without the modules that the zygote has already imported."""
        return {name: content for name, content in program.items() if not _imported_ahead(content)}


ANY: Final = ZygoteKind((), frozenset())
"""The kind of a zygote in which jobs of every kind can run, by executing their command."""


def kind_of(job: Job) -> ZygoteKind:
    """The narrowest kind that a job belongs to."""
    length = _length_of_prefix(job.command)
    if length == 0 or any(name.startswith((*_FRESH_VARIABLES, *_REPORTING_VARIABLES)) for name in job.env):
        return ANY
    modules = tuple(module for content in job.program.values() for module in _imported_ahead(content))
    return ZygoteKind(job.command[:length], frozenset(job.env.items()), modules)


def _imported_ahead(content: Path | bytes) -> tuple[tuple[str, bytes], ...]:
    return content.imported_ahead if isinstance(content, ModuleArchive) else ()


def _length_of_prefix(command: tuple[str, ...]) -> int:
    """How many words name the interpreter, its options and its program; 0 if the command is of another form."""
    if command[0] not in _INTERPRETERS:
        return 0
    options = list(takewhile(_HARMLESS_OPTIONS.__contains__, command[1:]))
    target = command[1 + len(options) :]
    if target[:1] == ("-m",):
        return len(options) + 3 if len(target) > 1 else 0
    return len(options) + 2 if target and not target[0].startswith("-") else 0


class Zygote:
    """A waiting interpreter; `zygote.py` is at the other end of `channel`."""

    def __init__(self, process: Popen[bytes], channel: socket.socket) -> None:
        self._process = process
        self._channel = channel
        channel.settimeout(START_S)

    def await_start(self) -> None:
        """Block until it has imported its modules. Raises OSError if it ends before, or takes too long."""
        if not self._channel.recv(1):
            output = self._process.communicate()[0].decode(errors="replace").strip()
            raise ConnectionResetError(f"a zygote ended while it started: {output}")

    def fork(self, control: socket.socket) -> None:
        """Make it fork a process that gets this end of a connection. Raises OSError if it has ended."""
        socket.send_fds(self._channel, [b"j"], [control.fileno()])

    def has_ended(self) -> bool:
        """Whether it has ended; certain once a process that it forked has ended because of that."""
        probe = select.poll()
        probe.register(self._channel, 0)
        return bool(probe.poll(0))

    def close(self) -> None:
        """End it, and with it every process that it forked."""
        self._channel.close()
        with self._process:  # which waits for it, and closes its pipe
            self._process.kill()


@dataclass(slots=True)
class _Slot:
    """A zygote that runs or is starting; how many jobs use it now and have used it; the number of the last job."""

    starting: Future[Zygote]
    users: int = 0
    served: int = 0
    last_job: int = 0


class Zygotes:
    """The zygotes of one sandbox by kind; `start` starts one. Safe to use from several threads."""

    def __init__(self, start: Callable[[ZygoteKind], Zygote]) -> None:
        self._start = start
        self._lock = Lock()
        self._slots = OrderedDict[ZygoteKind, _Slot]()
        self._failures = Counter[ZygoteKind]()
        self._jobs = 0
        # bubblewrap ends with the *thread* that started it: these threads live until `close`.
        self._starters = ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="zygotes")

    @contextmanager
    def borrowed(self, kind: ZygoteKind) -> Iterator[tuple[ZygoteKind, Zygote]]:
        """A zygote for one job, and its kind: the requested one, or `ANY`.

        Raises OSError if there is none. A connection that breaks in the block counts as a failure of the zygote.
        """
        kind, slot = self._borrow(kind)
        try:
            yield kind, self._wait_started(kind, slot)
        except (ConnectionError, TimeoutError):
            self._record_failure(kind, slot)
            raise
        else:
            self._failures.pop(kind, None)
        finally:
            self._return(kind, slot)

    def close(self) -> None:
        """End them all."""
        with self._lock:
            slots = list(self._slots.values())
            self._slots.clear()
        for slot in slots:
            self._end(slot)
        self._starters.shutdown()

    def _borrow(self, kind: ZygoteKind) -> tuple[ZygoteKind, _Slot]:
        with self._lock:
            self._jobs += 1
            if self._jobs % _JOBS_EACH == 0:
                self._failures.clear()  # try again: a disk may have space by now
            kind = kind if self._has_room_for(kind) else ANY
            if self._failures[kind] >= _MOST_FAILURES:
                raise ConnectionResetError("no zygote starts here")
            slot = self._slots.get(kind)
            if slot is None or slot.served >= _JOBS_EACH:
                self._retire(kind)
                slot = self._slots[kind] = _Slot(self._starters.submit(self._start_zygote, kind))
            slot.users, slot.served, slot.last_job = slot.users + 1, slot.served + 1, self._jobs
            self._slots.move_to_end(kind)
            return kind, slot

    def _wait_started(self, kind: ZygoteKind, slot: _Slot) -> Zygote:
        try:
            return slot.starting.result()
        except OSError as error:
            raise ConnectionResetError(f"no zygote started for {kind.command}: {error}") from error

    def _start_zygote(self, kind: ZygoteKind) -> Zygote:
        zygote = self._start(kind)
        try:
            zygote.await_start()
        except OSError:
            zygote.close()
            raise
        return zygote

    def _has_room_for(self, kind: ZygoteKind) -> bool:
        """Whether a kind has a zygote or may get one; if there are too many, an idle one has to end for it."""
        if self._failures[kind] >= _MOST_FAILURES:
            return False
        if kind in self._slots or len(self._slots) < _MOST_AT_ONCE:
            return True
        oldest, slot = next(iter(self._slots.items()))
        is_idle = slot.users == 0 and self._jobs - slot.last_job >= _JOBS_IDLE
        if is_idle:
            self._retire(oldest)
        return is_idle

    def _record_failure(self, kind: ZygoteKind, slot: _Slot) -> None:
        with self._lock:
            self._failures[kind] += 1
            if self._slots.get(kind) is slot:
                del self._slots[kind]

    def _return(self, kind: ZygoteKind, slot: _Slot) -> None:
        with self._lock:
            slot.users -= 1
            is_unused = slot.users == 0 and self._slots.get(kind) is not slot
        if is_unused:
            self._end(slot)

    def _retire(self, kind: ZygoteKind) -> None:
        slot = self._slots.pop(kind, None)
        if slot is not None and slot.users == 0:  # else the last user ends it
            self._starters.submit(self._end, slot)

    def _end(self, slot: _Slot) -> None:
        with suppress(OSError):
            slot.starting.result().close()
