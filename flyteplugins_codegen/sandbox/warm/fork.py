"""Warm workers: jobs in forks of a zygote, an interpreter that waits in bubblewrap with modules imported.

This is the supervisor's side: it starts zygotes, makes them fork, and sends each fork its job. `zygote` is the other.
"""

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

from flyteplugins_codegen.sandbox import bwrap_options, init
from flyteplugins_codegen.sandbox.contract import APP, Job
from flyteplugins_codegen.sandbox.host_files import require_input
from flyteplugins_codegen.sandbox.kernel.cgroups import Cgroup
from flyteplugins_codegen.sandbox.payload import MARSHAL_VERSION, compact_source, module_path
from flyteplugins_codegen.sandbox.process import START_S, ProcessWatcher, Stream, memory_file, open_pipe
from flyteplugins_codegen.sandbox.running import PreparedJob
from flyteplugins_codegen.sandbox.warm import zygote
from flyteplugins_codegen.sandbox.warm.pool import ANY, Zygote, ZygoteKind, Zygotes, kind_of

_MAX_BYTES: Final = 16 << 20  # of the files that are copied for a job; more is faster to mount
_MAX_FILES: Final = 1 << 18  # in each of a job's own folders; each takes a KiB of the kernel's memory
_FOLDER: Final = "/dev/shm"  # noqa: S108 - inside; every job gets its own there, and does not see the zygote's
_UNUSED_COMMAND: Final = ("python", "-c", "")  # a zygote of `ANY` never runs its own program
# Threads do not survive a fork, such as those of numpy's OpenBLAS and of the jemalloc in pyarrow.
_VARIABLES: Final = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
_MESSAGE_BYTES: Final = 4096
_ANCILLARY_BYTES: Final = 256
_FOLDERS: Final = 3
_CREDENTIALS: Final = struct.Struct("3i")  # process, user, group
_DESCRIPTOR: Final = struct.Struct("i")


def is_small(job: Job) -> bool:
    """Whether a job's files are all plain and small. Raises RequestError for a path that does not exist."""
    remaining = _MAX_BYTES
    for name, content in (*job.program.items(), *job.inputs.items()):
        if isinstance(content, Path) and not require_input(name, content).is_file():
            return False
        remaining -= content.stat().st_size if isinstance(content, Path) else len(content)
    return remaining >= 0


@dataclass(frozen=True, slots=True)
class Rights:
    """What a job's processes may do: `rlimits` as written by `render_rlimits`, and `filter`, a seccomp program."""

    rlimits: str
    filter: bytes


class WarmWorkers:
    """Runs jobs in forks of zygotes, which start with the first job of their kind. Safe to use from several threads."""

    def __init__(self, sandbox: ZygoteSandbox) -> None:
        self._sandbox = sandbox
        self._zygotes = Zygotes(sandbox.start)

    @contextmanager
    def prepared(self, job: Job, rights: Rights, group: Cgroup | None) -> Iterator[PreparedJob | None]:
        """The job in a waiting process of that group, ended with the block; None if its command does not exist.

        Raises OSError if there is no process, or at the end of the block if it was lost with its zygote: in both cases
        the job has to be run in another way.
        """
        env = {**self._sandbox.env, **job.env, "PWD": APP}
        with self._zygotes.borrowed(kind_of(job)) as (kind, zygote), ExitStack() as stack:
            request = render_request(job, kind, env, rights)
            order = JobOrder(len(kind.command), request, group.entries(stack) if group else ())
            prepared = fork_job(zygote, job, order, stack)
            if prepared and group and not order.entries:
                group.add(prepared.first)
            yield prepared
            if prepared and not prepared.watcher.report.kept and zygote.has_ended():
                raise ConnectionResetError("a zygote ended while one of its jobs was running")

    def close(self) -> None:
        """End the zygotes, and the jobs that still run in them."""
        self._zygotes.close()


@dataclass(frozen=True, slots=True)
class ZygoteSandbox:
    """Starts the zygotes of one sandbox: in bubblewrap, with the root that a job sees, all of it read-only.

    `command` is the beginning of bubblewrap's command, `root` its options for a private root, `env` the variables that
    every job has; `preload` names the modules to import.
    """

    command: tuple[str, ...]
    root: tuple[str, ...]
    env: Mapping[str, str]
    preload: tuple[str, ...]

    def start(self, kind: ZygoteKind) -> Zygote:
        """Start a zygote. Raises OSError if the system cannot."""
        channel, its_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its_end, ExitStack() as stack:
            stack.callback(channel.close)
            process = self._start(kind, its_end.fileno())
            stack.pop_all()
        return Zygote(process, channel)

    def _start(self, kind: ZygoteKind, channel: int) -> subprocess.Popen[bytes]:
        path = {**self.env, **kind.env}.get("PYTHONPATH")
        settings = {
            "channel": channel,
            "init": compact_source(module_path(init)),
            "modules": kind.modules,
            "path": path.split(os.pathsep) if path else [],
            "preload": () if kind == ANY else self.preload,
        }
        with ExitStack() as stack:
            message = _memory_file(stack, marshal.dumps(settings, MARSHAL_VERSION))
            program = _memory_file(stack, module_path(zygote).read_bytes())
            options = [*self._options(kind), "--ro-bind-data", str(program), f"{_FOLDER}/sitecustomize.py"]
            options += ["--remount-ro", "/dev", "--remount-ro", "/"]
            arguments = _memory_file(stack, b"".join(os.fsencode(option) + b"\0" for option in options))
            return subprocess.Popen(
                [*self.command, "--args", str(arguments), "--", *(kind.command or _UNUSED_COMMAND)],
                stdin=message,
                stdout=subprocess.PIPE,  # pipes, as a job has, so that the interpreter opens the same kinds of streams
                stderr=subprocess.STDOUT,
                pass_fds=(channel, program, arguments),
                env={},
                cwd="/",
                umask=0o022,
                start_new_session=True,
            )

    def _options(self, kind: ZygoteKind) -> list[str]:
        env = {**self.env, **_VARIABLES, **kind.env, "PYTHONPATH": _FOLDER}
        return [
            *bwrap_options.open_namespaces(),
            *bwrap_options.empty_mount_points(),
            *self.root,
            *bwrap_options.setenv(env),
            "--chdir",
            APP,
        ]


def _memory_file(stack: ExitStack, content: bytes) -> int:
    """A descriptor to read these bytes from, closed with the stack."""
    descriptor = memory_file(content)
    stack.callback(os.close, descriptor)
    return descriptor


def render_request(job: Job, kind: ZygoteKind, env: Mapping[str, str], rights: Rights) -> bytes:
    """A job in the form that a zygote's fork reads; `env` are all variables of the job.

    Raises OSError for a file that cannot be read.
    """
    request = {
        "command": list(job.command),
        "env": dict(env),
        "program": _contents(kind.files_to_write(job.program)),
        "inputs": _contents(job.inputs),
        "limits": rights.rlimits,
        "filter": rights.filter,
        "size": max(job.limits.output_mib << 20, 1),  # 0 would mean no limit
        "inodes": _MAX_FILES,
    }
    return marshal.dumps(request, MARSHAL_VERSION)


def _contents(files: Mapping[str, Path | bytes]) -> dict[str, tuple[int, bytes]]:
    return {name: _content(content) for name, content in files.items()}


def _content(content: Path | bytes) -> tuple[int, bytes]:
    """The mode of a file, without the right to write, and its bytes."""
    if isinstance(content, bytes):
        return 0o444, content
    return content.stat().st_mode & 0o111 | 0o444, content.read_bytes()


@dataclass(frozen=True, slots=True)
class JobOrder:
    """What a forked process gets: its request, and how many words of the job's command its zygote was started with.

    Through the `entries` it enters the job's control groups.
    """

    skip: int
    request: bytes
    entries: tuple[int, ...]


def fork_job(zygote: Zygote, job: Job, order: JobOrder, stack: ExitStack) -> PreparedJob | None:
    """Have a process forked, with everything prepared for the job; None if the job's command does not exist.

    `stack` ends the process and closes everything that belongs to it. Raises ConnectionError or TimeoutError if a
    process failed, OSError if this process is out of descriptors.
    """
    control = _fork(zygote, stack)
    stdout, stderr = _send(control, order, job.stdin, stack)
    answer, first, folders = _receive(control, stack)
    if answer == b"unstartable":
        return None
    if answer != b"ready":
        raise ConnectionResetError(answer.decode(errors="replace") or "a job's process ended before the job began")
    if len(folders) != _FOLDERS:
        raise OSError(errno.EMFILE, "no descriptors are left for a job's folders")
    keep_bytes = job.limits.stream_kib << 10
    report = Stream(control.fileno(), _MESSAGE_BYTES)
    watcher = _ForkWatcher(_ForkedProcess(first), Stream(stdout, keep_bytes), Stream(stderr, keep_bytes), report)
    stack.enter_context(closing(watcher))
    paths = tuple(f"/proc/self/fd/{folder}" for folder in folders)
    return PreparedJob(job, first, watcher, folders[0], paths, partial(control.send, b"g"))


def _fork(zygote: Zygote, stack: ExitStack) -> socket.socket:
    control, its_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    stack.callback(control.close)
    with its_end:
        control.settimeout(START_S)
        control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)  # gives the number of the process that answers
        zygote.fork(its_end)
    return control


def _send(control: socket.socket, order: JobOrder, stdin: bytes, stack: ExitStack) -> tuple[int, int]:
    """Send the order, the stdin and two pipes to write to; return our ends of the pipes."""
    (stdout, stdout_end), (stderr, stderr_end) = open_pipe(stack), open_pipe(stack)
    descriptors = []
    with stdout_end, stderr_end, ExitStack() as files:  # so that the pipes end with the job
        for content in (order.request, stdin):
            descriptors.append(memory_file(content) if content else os.open(os.devnull, os.O_RDONLY))
            files.callback(os.close, descriptors[-1])
        descriptors += [stdout_end.fileno(), stderr_end.fileno(), *order.entries]
        socket.send_fds(control, [str(order.skip).encode()], descriptors)
    return stdout.fileno(), stderr.fileno()


def _receive(control: socket.socket, stack: ExitStack) -> tuple[bytes, int, list[int]]:
    """The answer, the number of the process that gives it, and the descriptors that came with it."""
    answer, ancillary, _, _ = control.recvmsg(_MESSAGE_BYTES, _ANCILLARY_BYTES, socket.MSG_CMSG_CLOEXEC)
    messages = {kind: data for _, kind, data in ancillary}
    folders = [number for (number,) in _DESCRIPTOR.iter_unpack(messages.get(socket.SCM_RIGHTS, b""))]
    for folder in folders:
        stack.callback(os.close, folder)
    pid, _, _ = _CREDENTIALS.unpack(messages.get(socket.SCM_CREDENTIALS, bytes(_CREDENTIALS.size)))
    return answer, pid, folders


@dataclass(slots=True)
class _ForkedProcess:
    """A process that is not our own child. If it does not report how its job ended, it was killed."""

    pid: int
    returncode: int = -signal.SIGKILL


class _ForkWatcher(ProcessWatcher):
    """Watches a process that is reaped by its zygote."""

    def _reap(self, *, block: bool) -> None:  # noqa: ARG002 - the zygote waits for it
        self.ended = True
