"""The init process of a container: it starts the job, watches it, ends it, and sends its outputs.

It runs under the image's Python: `python3 -I -S container_init.py describe` prints what the container is like, as
JSON; `python3 -I -S container_init.py run` runs the job that its standard input describes (`session.InitSettings`).
Engines give a container no channels but its three standard streams, so everything is sent over standard output, in
frames: one letter, the length of the payload in 4 bytes (big-endian), the payload.

    R                        the job has begun
    X                        its command does not exist
    F  text                  the container does not allow to start it as required
    O, E  bytes              its standard output, standard error; no more than `stream_bytes` of each
    D     JSON               how it ended, what it used, and how many bytes of each stream were dropped
    L     COUNT PATH         of /var/outputs: so many entries are in this folder (an empty path is the top)
    N     MODE LINKS SIZE PATH, B bytes   an entry and, for a plain file, its contents
    Z                        the end; init waits until standard input ends

While the job runs, a `k` on standard input ends it, and the end of standard input ends everything: a supervisor that is
killed leaves nothing behind. The job runs as the same user. It cannot signal, trace or read this process, which is
process 1 and not dumpable, has streams of its own, and is not the one that the kernel kills when memory runs out. The
outputs are an adversary's: entries are opened without following links and without blocking, and an entry that breaks a
rule is named and skipped.
"""

from __future__ import annotations

# ruff: noqa: PTH120, PTH123, PERF203, SIM105 - this program has to start fast: no pathlib, no contextlib
import ctypes
import json
import os
import resource
import select
import signal
import stat
import sys
import time

TYPE_CHECKING = False  # importing `typing` takes longer than the rest
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

if TYPE_CHECKING or __name__ != "__main__":
    from flyteplugins_codegen.sandbox.init import CANNOT_EXECUTE, apply_limits, can_start
else:  # in a container, where `copy_init` has put `init` beside this file; Python's -I leaves its folder out
    sys.path.insert(0, os.path.dirname(__file__))
    from init import CANNOT_EXECUTE, apply_limits, can_start

_OUTPUTS = "/var/outputs"
_CGROUPS = "/sys/fs/cgroup"
_MAX_DEPTH = 32
_CHUNK_BYTES = 1 << 16
_LENGTH_BYTES = 8
_TICK_S = 0.2  # how often a limit on CPU time is compared with what was used
_LONGEST_WAIT_S = 3600.0  # systems accept no longer time-out
_GRACE_S = 60.0  # how long after its time a job is ended without a request
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _FILTER = 4, 22, 2
_VICTIM_FIRST = b"1000"
_HIGHEST_DESCRIPTOR = 1024
_EVERY_USER = ["0", "0", "4294967295"]  # /proc/self/uid_map outside of any user namespace

_libc = ctypes.CDLL(None, use_errno=True)


class _JobSettings:
    """The job, as the supervisor describes it (`session.InitSettings`)."""

    command: list[str]
    env: dict[str, str]
    folder: str
    rlimits: str
    seccomp: str
    own_group: bool
    wall_s: float
    cpu_s: float | None
    stream_bytes: int
    outputs: list[str] | None
    output_files: int
    output_bytes: int

    def __init__(self, text: bytes) -> None:
        self.__dict__.update(json.loads(text))


def run() -> int:
    """Run the job that standard input describes to its end."""
    settings = _JobSettings(b"".join(_receive()))
    stdin = _receive_stdin()
    if not can_start(settings.command[0], settings.env["PATH"]):
        _send(b"X")
        return CANNOT_EXECUTE
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the only signal that the job can send to process 1
    try:
        job = _JobProcesses(settings, stdin)
    except OSError as error:
        _send(b"F", str(error).encode(errors="replace"))
        return CANNOT_EXECUTE
    _send(b"R")
    _send(b"D", json.dumps(job.watch()).encode())
    _send_outputs(settings)
    _send(b"Z")
    while os.read(0, 1):  # so that nothing is lost on its way through the engine
        pass
    return 0


def _receive() -> Iterator[bytes]:
    """The next part of the opening on standard input, in pieces."""
    remaining = int.from_bytes(_read_exactly(_LENGTH_BYTES), "big")
    while remaining:
        piece = _read_exactly(min(remaining, _CHUNK_BYTES))
        remaining -= len(piece)
        yield piece


def _read_exactly(size: int) -> bytes:
    read = b""
    while len(read) < size:
        piece = os.read(0, size - len(read))
        if not piece:
            os._exit(CANNOT_EXECUTE)  # the supervisor is gone
        read += piece
    return read


def _receive_stdin() -> int:
    """The job's stdin, as a descriptor of a file in memory."""
    pieces = _receive()
    first = next(pieces, b"")
    if not first:
        return os.open("/dev/null", os.O_RDONLY)
    file = os.memfd_create("stdin")
    for piece in (first, *pieces):
        os.write(file, piece)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _send(kind: bytes, payload: bytes = b"") -> None:
    frame = memoryview(kind + len(payload).to_bytes(4, "big") + payload)
    while frame:
        frame = frame[os.write(1, frame) :]


# --- starting ---------------------------------------------------------------------------------------------------------


def _start(settings: _JobSettings, streams: tuple[int, int, int]) -> int:
    """Start the job's process, after making this one not dumpable. Raises OSError if the job cannot begin."""
    failure, failure_end = os.pipe()
    hold, go = os.pipe()
    job = os.fork()
    if job == 0:
        _become_job(settings, streams, hold, failure_end)
    os.close(failure_end)
    os.close(hold)
    if _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_DUMPABLE")
    os.write(go, b"g")
    os.close(go)
    with open(failure, "rb") as reason:  # ends as soon as the job's command runs
        if text := reason.read():
            raise OSError(text.decode(errors="replace"))
    return job


def _become_job(settings: _JobSettings, streams: tuple[int, int, int], hold: int, failure: int) -> NoReturn:
    try:
        _prepare(settings, streams, hold)
    except BaseException as error:  # noqa: BLE001 - a fork must not go on as its parent
        os.write(failure, f"{type(error).__name__}: {error}".encode(errors="replace"))
        os._exit(CANNOT_EXECUTE)
    try:
        os.execvpe(settings.command[0], settings.command, settings.env)  # noqa: S606 - the job's command
    except OSError as error:
        os.write(2, f"{settings.command[0]}: {error.strerror}\n".encode(errors="replace"))
    finally:
        os._exit(CANNOT_EXECUTE)


def _prepare(settings: _JobSettings, streams: tuple[int, int, int], hold: int) -> None:
    """Prepare the forked process for the job's command."""
    try:
        _write("/proc/self/oom_score_adj", _VICTIM_FIRST)
    except OSError:
        pass  # some kernels do not allow it
    os.read(hold, 1)
    os.setsid()
    for target, source in enumerate(streams):
        os.dup2(source, target)
    os.umask(0o022)
    os.chdir(settings.folder)
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):  # Python or this program ignores them
        signal.signal(number, signal.SIG_DFL)
    apply_limits(settings.rlimits)
    _filter_calls(settings.seccomp)


class _Program(ctypes.Structure):
    """Linux's `struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def _filter_calls(path: str) -> None:
    if not path:
        return
    with open(path, "rb") as file:
        instructions = file.read()
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    program = _Program(len(instructions) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    # The engine has set no_new_privs, which this requires.
    if _libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_SECCOMP")


# --- watching ---------------------------------------------------------------------------------------------------------


class _Pipe:
    """One stream of the job: the first bytes are sent, the others are counted."""

    def __init__(self, kind: bytes, descriptor: int, room: int) -> None:
        self.descriptor = descriptor
        self.cut = 0
        self._kind = kind
        self._room = room

    def take(self) -> bool:
        """Read what is there now; False at the end of the stream."""
        chunk = os.read(self.descriptor, _CHUNK_BYTES)
        fitting = chunk[: self._room]
        self._room -= len(fitting)
        self.cut += len(chunk) - len(fitting)
        if fitting:
            _send(self._kind, fitting)
        return bool(chunk)


class _JobProcesses:
    """The job's processes, from their start to the report of their end."""

    def __init__(self, settings: _JobSettings, stdin: int) -> None:
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        room = settings.stream_bytes
        self._pipes = {out: _Pipe(b"O", out, room), err: _Pipe(b"E", err, room)}
        self._wake = _wake_on_ended_child()
        self._group = _ContainerGroup() if settings.own_group else None
        self._cpu_limit_s = settings.cpu_s
        self._began = time.monotonic()
        self._latest = self._began + settings.wall_s + _GRACE_S
        self._pid = _start(settings, (stdin, out_end, err_end))
        self._wait_status: int | None = None
        self._has_to_end = self._used_its_cpu = False
        for theirs in (stdin, out_end, err_end):
            os.close(theirs)

    def watch(self) -> dict[str, object]:
        """Wait for the end, kill what is left, and return the report."""
        poller = select.poll()
        for descriptor in (0, self._wake, *self._pipes):
            poller.register(descriptor, select.POLLIN)
        self._wait(poller)
        wall_s = time.monotonic() - self._began
        _kill_all()
        usage = self._reap_all()
        self._drain()
        group = self._group
        return {
            "wait_status": self._wait_status,
            "wall_s": wall_s,
            "cpu_s": (group and group.cpu_s()) or usage.ru_utime + usage.ru_stime,
            "peak_bytes": (group and _cgroup_peak_bytes()) or usage.ru_maxrss << 10,
            "oom_kills": group.oom_kills() if group else 0,
            "used_its_cpu": self._used_its_cpu,
            "full": os.statvfs(_OUTPUTS).f_bavail == 0,
            "cut": [pipe.cut for pipe in self._pipes.values()],
        }

    def _wait(self, poller: select.poll) -> None:
        while not (self._wait_status is not None or self._has_to_end or self._used_its_cpu):
            for descriptor, _ in poller.poll(self._longest_wait_s() * 1000):
                self._act_on(descriptor, poller)
            if time.monotonic() >= self._latest:
                os._exit(CANNOT_EXECUTE)  # no supervisor is there to request it
            self._used_its_cpu = self._has_used_its_cpu()

    def _longest_wait_s(self) -> float:
        if self._group and self._cpu_limit_s is not None:
            return _TICK_S
        return min(max(0.0, self._latest - time.monotonic()), _LONGEST_WAIT_S)

    def _act_on(self, descriptor: int, poller: select.poll) -> None:
        if descriptor == 0:
            self._has_to_end = True
            if not os.read(0, 1):
                os._exit(CANNOT_EXECUTE)
        elif descriptor == self._wake:
            os.read(self._wake, _CHUNK_BYTES)
            self._reap()
        elif not self._pipes[descriptor].take():
            poller.unregister(descriptor)

    def _reap(self) -> None:
        """Reap every child that has ended: orphans too, which would count against the limit on processes."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._pid:
                self._wait_status = status

    def _reap_all(self) -> resource.struct_rusage:
        while True:
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                return resource.getrusage(resource.RUSAGE_CHILDREN)
            if pid == self._pid:
                self._wait_status = status

    def _drain(self) -> None:
        for pipe in self._pipes.values():
            while pipe.take():
                pass  # every process that could write is dead

    def _has_used_its_cpu(self) -> bool:
        if self._wait_status is not None or self._group is None or self._cpu_limit_s is None:
            return False  # it has ended, or the kernel limits each process
        return self._group.cpu_s() > self._cpu_limit_s


def _wake_on_ended_child() -> int:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    os.set_blocking(reading, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reading


def _kill_all() -> None:
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


# --- what the control group counts ------------------------------------------------------------------------------------


class _ContainerGroup:
    """What the container's own control group has counted since the job began, for all its processes together.

    Without a group of its own (`own_group`) the container has resource limits, and the visible groups are others'.
    """

    def __init__(self) -> None:
        self._kills_before = _oom_kills()
        self._cpu_before_s = _cgroup_cpu_s() - _own_cpu_s()

    def cpu_s(self) -> float:
        return max(0.0, _cgroup_cpu_s() - _own_cpu_s() - self._cpu_before_s)

    def oom_kills(self) -> int:
        return _oom_kills() - self._kills_before


def _own_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _cgroup_cpu_s() -> float:
    """The CPU time that this container has used, 0 if that is not visible."""
    nanoseconds = _read_first("cpuacct/cpuacct.usage", "cpu,cpuacct/cpuacct.usage")
    if nanoseconds:
        return int(nanoseconds) / 1e9
    return int(_field(_read_first("cpu.stat"), "usage_usec")) / 1e6


def _cgroup_peak_bytes() -> int:
    return int(_read_first("memory/memory.max_usage_in_bytes", "memory.peak") or 0)


def _oom_kills() -> int:
    return int(_field(_read_first("memory/memory.oom_control", "memory.events"), "oom_kill"))


def _field(text: str, name: str) -> str:
    return dict(line.split(None, 1) for line in text.splitlines()).get(name, "0")


def _read_first(*names: str) -> str:
    for name in names:
        try:
            with open(f"{_CGROUPS}/{name}", encoding="ascii") as file:
                return file.read()
        except OSError:
            continue
    return ""


def _write(path: str, text: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text)
    finally:
        os.close(descriptor)


# --- sending the outputs ----------------------------------------------------------------------------------------------


class _BrokenRuleError(Exception):
    """Nothing more of this output is sent; the supervisor sees the reason in the last entry."""


def _send_outputs(settings: _JobSettings) -> None:
    tree = _Tree(settings.output_files, settings.output_bytes)
    try:
        names = tree.list("") if settings.outputs is None else settings.outputs
    except _BrokenRuleError:
        return
    for name in names:
        try:
            tree.send(name)
        except (_BrokenRuleError, OSError):
            continue


class _Tree:
    """The files under /var/outputs, and how many entries and bytes of them may still be sent."""

    def __init__(self, entries: int, size_bytes: int) -> None:
        self._root = os.open(_OUTPUTS, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._entries = entries
        self._bytes = size_bytes

    def list(self, path: str) -> list[str]:
        """Send the number of entries of a folder, and return their names. Raises _BrokenRuleError for too many."""
        folder = self._open(path) if path else os.dup(self._root)
        names = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    names.append(entry.name)
                    if len(names) > self._entries:
                        break
        finally:
            os.close(folder)
        _send(b"L", b"%d %s" % (len(names), os.fsencode(path)))
        _require(len(names) <= self._entries)
        self._entries -= len(names)
        return names

    def send(self, name: str) -> None:
        """Send one file, or a folder with everything in it."""
        pending = [name] if self._send_entry(name) else []
        while pending:
            folder = pending.pop()
            for entry in self.list(folder):
                path = f"{folder}/{entry}"
                if self._send_entry(path):
                    pending.append(path)

    def _send_entry(self, path: str) -> bool:
        """Send an entry and, for a file, its contents; return True for a folder."""
        if path.count("/") >= _MAX_DEPTH:
            self._announce(path, None)
            raise _BrokenRuleError
        folder, _, name = path.rpartition("/")
        parent = self._open(folder) if folder else os.dup(self._root)
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            self._announce(path, status)
            _require(name.isprintable() and _is_plain(status))
            if stat.S_ISDIR(status.st_mode):
                return True
            self._send_contents(name, parent, status.st_size)
        finally:
            os.close(parent)
        return False

    def _send_contents(self, name: str, parent: int, size_bytes: int) -> None:
        _require(size_bytes <= self._bytes)
        self._bytes -= size_bytes
        descriptor = os.open(name, _OPEN, dir_fd=parent)
        try:
            while size_bytes and (chunk := os.read(descriptor, min(size_bytes, _CHUNK_BYTES))):
                _send(b"B", chunk)
                size_bytes -= len(chunk)
        finally:
            os.close(descriptor)

    def _open(self, path: str) -> int:
        """Open a folder without following a link at any step."""
        descriptor = os.dup(self._root)
        for name in path.split("/"):
            parent = descriptor
            try:
                descriptor = os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=parent)
            finally:
                os.close(parent)
        return descriptor

    def _announce(self, path: str, status: os.stat_result | None) -> None:
        mode, links, size = (status.st_mode, status.st_nlink, status.st_size) if status else (0, 0, 0)
        _send(b"N", b"%d %d %d %s" % (mode, links, size, os.fsencode(path)))


def _is_plain(status: os.stat_result) -> bool:
    if stat.S_ISDIR(status.st_mode):
        return bool(status.st_mode & stat.S_IRUSR and status.st_mode & stat.S_IXUSR)
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and bool(status.st_mode & stat.S_IRUSR)


def _require(holds: bool) -> None:  # noqa: FBT001 - the only argument
    if not holds:
        raise _BrokenRuleError


# --- describing the container -----------------------------------------------------------------------------------------


def describe() -> dict[str, object]:
    """The container's Python, its namespaces, and the limits that the kernel enforces in it."""
    from importlib.machinery import EXTENSION_SUFFIXES

    with open("/proc/self/uid_map", encoding="ascii") as file:
        users = file.read().split()
    with open("/proc/self/cgroup", encoding="ascii") as file:
        groups = {line.strip().split(":", 2)[2] for line in file}
    return {
        "python": os.path.realpath(sys.executable),
        "version": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "suffix": EXTENSION_SUFFIXES[0],
        "machine": os.uname().machine,
        "memory": _limit_of("memory/memory.limit_in_bytes", "memory.max"),
        "processes": _limit_of("pids/pids.max", "pids.max"),
        "counts_cpu": _cgroup_cpu_s() > 0,
        "user": users != _EVERY_USER,
        "cgroup-namespace": groups == {"/"},
    }


def _limit_of(*names: str) -> int | None:
    text = _read_first(*names).strip()
    return int(text) if text.isdigit() else None


if __name__ == "__main__":
    os.closerange(3, _HIGHEST_DESCRIPTOR)  # whatever the engine has left open
    if sys.argv[1] == "run":
        os._exit(run())
    print(json.dumps(describe()))  # noqa: T201 - the answer
