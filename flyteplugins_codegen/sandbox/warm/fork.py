"""The first process of a job, forked by a zygote: handed its job, and held until it is released."""

from __future__ import annotations

import errno
import marshal
import os
import signal
import socket
import struct
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from flyteplugins_codegen.sandbox import bwrap_options
from flyteplugins_codegen.sandbox.bwrap_options import memory_file
from flyteplugins_codegen.sandbox.contract import APP, Job
from flyteplugins_codegen.sandbox.kernel.cgroups import Cgroup
from flyteplugins_codegen.sandbox.payload import module_path
from flyteplugins_codegen.sandbox.process import START_S, Stream, Watch, open_pipe
from flyteplugins_codegen.sandbox.running import HeldJob
from flyteplugins_codegen.sandbox.temporary import require_input
from flyteplugins_codegen.sandbox.warm import zygote
from flyteplugins_codegen.sandbox.warm.pool import ANY, Kind, Zygote, Zygotes, kind_of

_MESSAGE_BYTES: Final = 4096
_ANCILLARY_BYTES: Final = 256
_FOLDERS: Final = 3
_CREDENTIALS: Final = struct.Struct("3i")  # process, user, group
_DESCRIPTOR: Final = struct.Struct("i")


@dataclass(frozen=True, slots=True)
class Order:
    """What a process is told: a request, and how many words of the job's command its zygote was started with.

    By the `entries` it goes into the job's control groups.
    """

    skip: int
    request: bytes
    entries: tuple[int, ...]


def fork_job(zygote: Zygote, job: Job, order: Order, stack: ExitStack) -> HeldJob | None:
    """Have a process forked, and everything laid out for the job; None where the job's command is not there.

    `stack` ends the process and closes all that is held of it. Raises ConnectionError or TimeoutError where a process
    failed, OSError where this one has no room.
    """
    control = _fork(zygote, stack)
    stdout, stderr = _send(control, order, job.stdin, stack)
    answer, first, folders = _hear(control, stack)
    if answer == b"unstartable":
        return None
    if answer != b"ready":
        raise ConnectionResetError(answer.decode(errors="replace") or "a job's process ended before the job began")
    if len(folders) != _FOLDERS:
        raise OSError(errno.EMFILE, "no descriptors are left for a job's folders")
    keep_bytes = job.limits.stream_kib << 10
    report = Stream(control.fileno(), _MESSAGE_BYTES)
    watch = _Watch(_Forked(first), Stream(stdout, keep_bytes), Stream(stderr, keep_bytes), report)
    stack.enter_context(closing(watch))
    paths = tuple(f"/proc/self/fd/{folder}" for folder in folders)
    return HeldJob(job, first, watch, folders[0], paths, partial(control.send, b"g"))


def _fork(zygote: Zygote, stack: ExitStack) -> socket.socket:
    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    stack.callback(control.close)
    with theirs:
        control.settimeout(START_S)
        control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)  # tells the number of the process that answers
        zygote.fork(theirs)
    return control


def _send(control: socket.socket, order: Order, stdin: bytes, stack: ExitStack) -> tuple[int, int]:
    """Hand over the order, the stdin and two pipes to write to; our ends of these."""
    (stdout, stdout_end), (stderr, stderr_end) = open_pipe(stack), open_pipe(stack)
    given = []
    with stdout_end, stderr_end, ExitStack() as sent:  # so that the pipes end with the job
        for content in (order.request, stdin):
            given.append(memory_file(content) if content else os.open(os.devnull, os.O_RDONLY))
            sent.callback(os.close, given[-1])
        given += [stdout_end.fileno(), stderr_end.fileno(), *order.entries]
        socket.send_fds(control, [str(order.skip).encode()], given)
    return stdout.fileno(), stderr.fileno()


def _hear(control: socket.socket, stack: ExitStack) -> tuple[bytes, int, list[int]]:
    """The answer, the number of the process that gives it, and the descriptors that came with it."""
    answer, ancillary, _, _ = control.recvmsg(_MESSAGE_BYTES, _ANCILLARY_BYTES, socket.MSG_CMSG_CLOEXEC)
    told = {kind: data for _, kind, data in ancillary}
    folders = [number for (number,) in _DESCRIPTOR.iter_unpack(told.get(socket.SCM_RIGHTS, b""))]
    for folder in folders:
        stack.callback(os.close, folder)
    pid, _, _ = _CREDENTIALS.unpack(told.get(socket.SCM_CREDENTIALS, bytes(_CREDENTIALS.size)))
    return answer, pid, folders


@dataclass(slots=True)
class _Forked:
    """A process that is not our own child. Where it does not tell how its job ended, it was killed."""

    pid: int
    returncode: int = -signal.SIGKILL

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


class _Watch(Watch):
    """Of a process that its zygote reaps."""

    def _reap(self, *, block: bool) -> None:  # noqa: ARG002 - nothing is to be waited for
        self.ended = True


# What is worth being imported ahead (`preload` of `open_sandbox`), by what the jobs do.

SUITE_MODULES: Final = (
    "pytest",
    # What pytest imports only when it is run.
    "_pytest._argcomplete",
    "_pytest.faulthandler",
    "_pytest.helpconfig",
    "_pytest.junitxml",
    "_pytest.skipping",
    "_pytest.tracemalloc",
    "_pytest.unittest",
    "_pytest.warnings",
    "difflib",
    "encodings.unicode_escape",
    "unittest",
    # What our runner imports beside.
    "_blake2",
    "fcntl",
    "json",
    "readline",
    "select",
    "signal",
    "tempfile",
)
"""For jobs that run a pytest suite."""


# A job as its process in a zygote's sandbox is told it.

_MOST_BYTES: Final = 16 << 20  # what is read and copied for a job; more is faster to mount
_MOST_FILES: Final = 1 << 18  # in each of a job's own folders; every one takes a KiB of the kernel's memory
_FORMAT: Final = 2  # of `marshal`, which every Python reads; its floats and texts have not changed since


def is_small(job: Job) -> bool:
    """Whether all that a job brings is plain files, and little. Raises RequestError for a path that is not there."""
    left = _MOST_BYTES
    for name, content in (*job.program.items(), *job.inputs.items()):
        if isinstance(content, Path) and not require_input(name, content).is_file():
            return False
        left -= content.stat().st_size if isinstance(content, Path) else len(content)
    return left >= 0


@dataclass(frozen=True, slots=True)
class Rights:
    """What a job's processes may do: `rlimits` as `render_rlimits` writes them, `filter` a seccomp program."""

    rlimits: str
    filter: bytes


def render_request(job: Job, kind: Kind, env: Mapping[str, str], rights: Rights) -> bytes:
    """What a zygote of this kind takes; `env` are all variables of the job.

    Raises OSError for a file that cannot be read.
    """
    request = {
        "command": list(job.command),
        "env": dict(env),
        "program": _contents(kind.left_of(job.program)),
        "inputs": _contents(job.inputs),
        "limits": rights.rlimits,
        "filter": rights.filter,
        "size": max(job.limits.output_mib << 20, 1),  # 0 would be without limit
        "inodes": _MOST_FILES,
    }
    return marshal.dumps(request, _FORMAT)


def _contents(files: Mapping[str, Path | bytes]) -> dict[str, tuple[int, bytes]]:
    return {name: _content(content) for name, content in files.items()}


def _content(content: Path | bytes) -> tuple[int, bytes]:
    """The mode of a file that nobody is to write to, and its bytes."""
    if isinstance(content, bytes):
        return 0o444, content
    return content.stat().st_mode & 0o111 | 0o444, content.read_bytes()


# Starting a zygote: in bubblewrap, with the root that a job sees, nothing of it to be written to.

_FOLDER: Final = "/dev/shm"  # noqa: S108 - where every job gets one of its own, and so does not see what was there
_EXECUTES: Final = ("python", "-c", "")  # what the interpreter of `ANY` was started for is never run
# Threads do not survive a fork: those of numpy's OpenBLAS, and of the jemalloc in pyarrow.
_VARIABLES: Final = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}


@dataclass(frozen=True, slots=True)
class ZygoteSandbox:
    """What the zygotes of one sandbox have in common.

    `command` begins bubblewrap's, `root` are its options for a private root, `env` the variables that every job has,
    `preload` names the modules to import.
    """

    command: tuple[str, ...]
    root: tuple[str, ...]
    env: Mapping[str, str]
    preload: tuple[str, ...]

    def start(self, kind: Kind) -> Zygote:
        """Start one. Raises OSError where the system has no room for it."""
        channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, ExitStack() as stack:
            stack.callback(channel.close)
            process = self._start(kind, theirs.fileno())
            stack.pop_all()
        return Zygote(process, channel)

    def _start(self, kind: Kind, channel: int) -> subprocess.Popen[bytes]:
        path = {**self.env, **kind.env}.get("PYTHONPATH")
        settings = {
            "channel": channel,
            "modules": kind.modules,
            "path": path.split(os.pathsep) if path else [],
            "preload": () if kind == ANY else self.preload,
        }
        with ExitStack() as stack:
            told = _sent(stack, marshal.dumps(settings, _FORMAT))
            program = _sent(stack, module_path(zygote).read_bytes())
            options = [*self._options(kind), "--ro-bind-data", str(program), f"{_FOLDER}/sitecustomize.py"]
            options += ["--remount-ro", "/dev", "--remount-ro", "/"]
            listed = _sent(stack, b"".join(os.fsencode(option) + b"\0" for option in options))
            return subprocess.Popen(
                [*self.command, "--args", str(listed), "--", *(kind.command or _EXECUTES)],
                stdin=told,
                stdout=subprocess.PIPE,  # as a job's are, so that the interpreter makes the same streams of them
                stderr=subprocess.STDOUT,
                pass_fds=(channel, program, listed),
                env={},
                cwd="/",
                umask=0o022,
                start_new_session=True,
            )

    def _options(self, kind: Kind) -> list[str]:
        env = {**self.env, **_VARIABLES, **kind.env, "PYTHONPATH": _FOLDER}
        return [
            *bwrap_options.open_namespaces(),
            *bwrap_options.empty_places(),
            *self.root,
            *bwrap_options.setenv(env),
            "--chdir",
            APP,
        ]


def _sent(stack: ExitStack, content: bytes) -> int:
    """A descriptor to read these bytes from, closed with the stack."""
    descriptor = memory_file(content)
    stack.callback(os.close, descriptor)
    return descriptor


# Warm workers: jobs in processes forked from an interpreter that has its modules imported.


class WarmWorkers:
    """The zygotes of a sandbox, which run nothing before the first job. Safe to use from several threads."""

    def __init__(self, sandbox: ZygoteSandbox) -> None:
        self._sandbox = sandbox
        self._zygotes = Zygotes(sandbox.start)

    @contextmanager
    def held(self, job: Job, rights: Rights, group: Cgroup | None) -> Iterator[HeldJob | None]:
        """The job in a process of that group that waits, ended with the block; None where its command is not there.

        Raises OSError where no process can be had, and at the end of the block where it was lost with its zygote: then
        the job is to be run again.
        """
        env = {**self._sandbox.env, **job.env, "PWD": APP}
        with self._zygotes.lent(kind_of(job)) as (kind, zygote), ExitStack() as stack:
            request = render_request(job, kind, env, rights)
            order = Order(len(kind.command), request, group.entries(stack) if group else ())
            held = fork_job(zygote, job, order, stack)
            if held and group and not order.entries:
                group.add(held.first)
            yield held
            if held and not held.watch.report.kept and zygote.has_ended():
                raise ConnectionResetError("a zygote ended while one of its jobs was running")

    def close(self) -> None:
        """End the zygotes and what still runs in them."""
        self._zygotes.close()
