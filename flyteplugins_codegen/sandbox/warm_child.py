"""The first process of a job, forked by a zygote: handed its job, and held until it is released."""

from __future__ import annotations

import errno
import os
import signal
import socket
import struct
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from typing import Final

from flyteplugins_codegen.sandbox.contract import Job
from flyteplugins_codegen.sandbox.held import HeldJob
from flyteplugins_codegen.sandbox.inputs import memory_file
from flyteplugins_codegen.sandbox.launch import START_S, open_pipe
from flyteplugins_codegen.sandbox.process import Watch
from flyteplugins_codegen.sandbox.streams import Stream
from flyteplugins_codegen.sandbox.warm_zygotes import Zygote

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
