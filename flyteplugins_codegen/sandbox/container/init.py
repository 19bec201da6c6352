"""Process 1 of a job's container: it starts the job, watches over it, ends it, and hands out what it left.

It runs under the image's Python: `python3 -I -S container_init.py describe` prints what the container is like, as
JSON; `python3 -I -S container_init.py run` runs the job that its standard input describes (see `settings`).
Engines give a container no more channels than its three standard streams, so all that is to be told goes over standard
output as frames: one letter, the length of the rest in 4 bytes (big-endian), the rest.

    R                        the job has begun
    X                        its command is not there to be run
    F  text                  the container does not let it be started as it should
    O, E  bytes              of its standard output, standard error; no more than `stream_bytes` of each
    D     JSON               how it ended, what it used, and how many bytes of each stream were dropped
    L     COUNT PATH         then of /var/outputs: so many entries are in this folder (an empty path is the top)
    N     MODE LINKS SIZE PATH, B bytes   an entry and, of a plain file, its contents
    Z                        that was all; it waits to be let go

Then standard input carries `k` to end the job, and its end ends all: a supervisor that is killed leaves nothing behind.
The job runs as the same user. It cannot signal, trace or read this process, which is process 1 and not dumpable, has
streams of its own, and is not the one that the kernel picks when memory runs out. What a job leaves is an adversary's:
entries are opened without following links and without blocking, and whatever breaks a rule is told and passed over.
"""

from __future__ import annotations

# ruff: noqa: PTH123, PERF203, SIM105 - this program stands alone and starts fast: no pathlib, no contextlib
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

_OUTPUTS = "/var/outputs"
_CGROUPS = "/sys/fs/cgroup"
_CANNOT_EXECUTE = 126  # as shells do
_DEEPEST = 32
_CHUNK_BYTES = 1 << 16
_LENGTH_BYTES = 8
_TICK_S = 0.2  # how often a limit on CPU time is compared with what was used
_LONGEST_WAIT_S = 3600.0  # what a system takes as a time-out is bounded
_GRACE_S = 60.0  # how long after its time a job is ended without being told to
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _FILTER = 4, 22, 2
_VICTIM_FIRST = b"1000"
_HIGHEST_DESCRIPTOR = 1024
_EVERY_USER = ["0", "0", "4294967295"]  # as /proc/self/uid_map has them where there is no user namespace

_libc = ctypes.CDLL(None, use_errno=True)


class _Settings:
    """What the supervisor says of one job."""

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
    settings = _Settings(b"".join(_receive()))
    stdin = _kept_in_memory()
    if not _can_start(settings.command[0], settings.env["PATH"]):
        _send(b"X")
        return _CANNOT_EXECUTE
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of all that the job can send, only this would arrive
    try:
        job = _Job(settings, stdin)
    except OSError as error:
        _send(b"F", str(error).encode(errors="replace"))
        return _CANNOT_EXECUTE
    _send(b"R")
    _send(b"D", json.dumps(job.watch()).encode())
    _send_outputs(settings)
    _send(b"Z")
    while os.read(0, 1):  # so that nothing is lost on its way out
        pass
    return 0


def _can_start(name: str, search: str) -> bool:
    folders = [""] if "/" in name else [f"{folder}/" for folder in search.split(":")]
    return any(os.access(folder + name, os.X_OK) for folder in folders)


def _receive() -> Iterator[bytes]:
    """One part of what standard input carries first, piece by piece."""
    left = int.from_bytes(_read_exactly(_LENGTH_BYTES), "big")
    while left:
        piece = _read_exactly(min(left, _CHUNK_BYTES))
        left -= len(piece)
        yield piece


def _read_exactly(size: int) -> bytes:
    read = b""
    while len(read) < size:
        piece = os.read(0, size - len(read))
        if not piece:
            os._exit(_CANNOT_EXECUTE)  # the supervisor is gone
        read += piece
    return read


def _kept_in_memory() -> int:
    """What the job is to read, as a file that has no name."""
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


def _start(settings: _Settings, streams: tuple[int, int, int]) -> int:
    """The job's process, begun once this one has closed itself to it. Raises OSError where it could not begin."""
    failure, failure_end = os.pipe()
    held, go = os.pipe()
    job = os.fork()
    if job == 0:
        _become_job(settings, streams, held, failure_end)
    os.close(failure_end)
    os.close(held)
    if _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_DUMPABLE")
    os.write(go, b"g")
    os.close(go)
    with open(failure, "rb") as reason:  # ends as soon as the job's command runs
        if text := reason.read():
            raise OSError(text.decode(errors="replace"))
    return job


def _become_job(settings: _Settings, streams: tuple[int, int, int], held: int, failure: int) -> NoReturn:
    try:
        _prepare(settings, streams, held)
    except BaseException as error:  # noqa: BLE001 - a fork must not go on as its parent
        os.write(failure, f"{type(error).__name__}: {error}".encode(errors="replace"))
        os._exit(_CANNOT_EXECUTE)
    try:
        os.execvpe(settings.command[0], settings.command, settings.env)  # noqa: S606 - the job's command
    except OSError as error:
        os.write(2, f"{settings.command[0]}: {error.strerror}\n".encode(errors="replace"))
    finally:
        os._exit(_CANNOT_EXECUTE)


def _prepare(settings: _Settings, streams: tuple[int, int, int], held: int) -> None:
    """All that comes between the fork and the job's command."""
    try:
        _write("/proc/self/oom_score_adj", _VICTIM_FIRST)
    except OSError:
        pass  # some kernels choose by themselves
    os.read(held, 1)
    os.setsid()
    for target, source in enumerate(streams):
        os.dup2(source, target)
    os.umask(0o022)
    os.chdir(settings.folder)
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):  # Python or we had them ignored
        signal.signal(number, signal.SIG_DFL)
    _limit(settings.rlimits)
    _filter_calls(settings.seccomp)


def _limit(limits: str) -> None:
    for limit in limits.split(","):
        name, _, values = limit.partition("=")
        kind = getattr(resource, f"RLIMIT_{name}")
        ceiling = resource.getrlimit(kind)[1]
        soft, hard = (int(value) for value in values.split(":"))
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(kind, (soft, hard))


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
    # The engine has set no_new_privs, without which this would be refused.
    if _libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_SECCOMP")


# --- watching ---------------------------------------------------------------------------------------------------------


class _Pipe:
    """One stream of the job: the first bytes are passed on, the others counted."""

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


class _Job:
    """The job's processes, and everything that is to be known of them at their end."""

    def __init__(self, settings: _Settings, stdin: int) -> None:
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        room = settings.stream_bytes
        self._pipes = {out: _Pipe(b"O", out, room), err: _Pipe(b"E", err, room)}
        self._wake = _wake_on_ended_child()
        self._group = _Group() if settings.own_group else None
        self._cpu_limit_s = settings.cpu_s
        self._began = time.monotonic()
        self._latest = self._began + settings.wall_s + _GRACE_S
        self._pid = _start(settings, (stdin, out_end, err_end))
        self._wait_status: int | None = None
        self._was_told_to_end = self._used_its_cpu = False
        for theirs in (stdin, out_end, err_end):
            os.close(theirs)

    def watch(self) -> dict[str, object]:
        """Wait for the end, end whatever is left, and say what became of it."""
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
        while not (self._wait_status is not None or self._was_told_to_end or self._used_its_cpu):
            for descriptor, _ in poller.poll(self._longest_wait_s() * 1000):
                self._act_on(descriptor, poller)
            if time.monotonic() >= self._latest:
                os._exit(_CANNOT_EXECUTE)  # nobody is there who would have told
            self._used_its_cpu = self._has_used_its_cpu()

    def _longest_wait_s(self) -> float:
        if self._group and self._cpu_limit_s is not None:
            return _TICK_S
        return min(max(0.0, self._latest - time.monotonic()), _LONGEST_WAIT_S)

    def _act_on(self, descriptor: int, poller: select.poll) -> None:
        if descriptor == 0:
            self._was_told_to_end = True
            if not os.read(0, 1):
                os._exit(_CANNOT_EXECUTE)
        elif descriptor == self._wake:
            os.read(self._wake, _CHUNK_BYTES)
            self._reap()
        elif not self._pipes[descriptor].take():
            poller.unregister(descriptor)

    def _reap(self) -> None:
        """Take note of every child that has ended: orphans are ours too, and would count against the limit."""
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
                pass  # whoever could write is dead

    def _has_used_its_cpu(self) -> bool:
        if self._wait_status is not None or self._group is None or self._cpu_limit_s is None:
            return False  # it has ended by itself, or the kernel counts for each process
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


class _Group:
    """What the container's own control group has counted since the job began, all processes of the job together.

    Where the container has none, its limits are rlimits, and what is to be seen of groups is somebody else's.
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
    """What this container has used, 0 where that is not to be seen."""
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


# --- what it left -----------------------------------------------------------------------------------------------------


class _BrokenRuleError(Exception):
    """Of this output nothing more is handed out; the supervisor sees from what it was told why."""


def _send_outputs(settings: _Settings) -> None:
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
    """What lies under /var/outputs, and how much of it may still be handed out."""

    def __init__(self, entries: int, size_bytes: int) -> None:
        self._root = os.open(_OUTPUTS, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._entries = entries
        self._bytes = size_bytes

    def list(self, path: str) -> list[str]:
        """The names in a folder, or _BrokenRuleError when there are too many to be taken."""
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
        """Hand out one file, or a folder with all that is in it."""
        pending = [name] if self._send_entry(name) else []
        while pending:
            folder = pending.pop()
            for entry in self.list(folder):
                path = f"{folder}/{entry}"
                if self._send_entry(path):
                    pending.append(path)

    def _send_entry(self, path: str) -> bool:
        """Tell of an entry, and hand out the contents of a file; True for a folder."""
        if path.count("/") >= _DEEPEST:
            self._tell(path, None)
            raise _BrokenRuleError
        folder, _, name = path.rpartition("/")
        parent = self._open(folder) if folder else os.dup(self._root)
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            self._tell(path, status)
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
        """A folder, each step of the way to it without following a link."""
        descriptor = os.dup(self._root)
        for name in path.split("/"):
            parent = descriptor
            try:
                descriptor = os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=parent)
            finally:
                os.close(parent)
        return descriptor

    def _tell(self, path: str, status: os.stat_result | None) -> None:
        mode, links, size = (status.st_mode, status.st_nlink, status.st_size) if status else (0, 0, 0)
        _send(b"N", b"%d %d %d %s" % (mode, links, size, os.fsencode(path)))


def _is_plain(status: os.stat_result) -> bool:
    if stat.S_ISDIR(status.st_mode):
        return bool(status.st_mode & stat.S_IRUSR and status.st_mode & stat.S_IXUSR)
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and bool(status.st_mode & stat.S_IRUSR)


def _require(holds: bool) -> None:  # noqa: FBT001 - the only argument
    if not holds:
        raise _BrokenRuleError


# --- what the container is like ---------------------------------------------------------------------------------------


def describe() -> dict[str, object]:
    """Its Python, its namespaces, and the limits that the kernel holds it to."""
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
    print(json.dumps(describe()))  # noqa: T201 - its answer
