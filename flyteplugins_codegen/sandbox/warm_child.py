"""The first process of a job, forked by a zygote: handed its job, and held until it is released."""

from __future__ import annotations

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
_CREDENTIALS: Final = struct.Struct("3i")  # process, user, group
_DESCRIPTOR: Final = struct.Struct("i")


def fork_job(zygote: Zygote, job: Job, request: bytes, stack: ExitStack) -> HeldJob | None:
    """Have a process forked, and everything laid out for the job; None where the job's command is not there.

    `stack` ends it and closes all that is held of it. Raises OSError where one step of it failed.
    """
    control = _fork(zygote, stack)
    pipes = _send(control, request, job.stdin, stack)
    message, ancillary, _, _ = control.recvmsg(_MESSAGE_BYTES, _ANCILLARY_BYTES, socket.MSG_CMSG_CLOEXEC)
    if message == b"unstartable":
        return None
    if message != b"ready":
        raise ConnectionResetError(message.decode(errors="replace") or "a job's process ended before the job began")
    told = {kind: data for _, kind, data in ancillary}
    first = _CREDENTIALS.unpack(told[socket.SCM_CREDENTIALS])[0]
    folders = [number for (number,) in _DESCRIPTOR.iter_unpack(told[socket.SCM_RIGHTS])]
    for folder in folders:
        stack.callback(os.close, folder)
    stdout, stderr = (Stream(pipe, job.limits.stream_kib << 10) for pipe in pipes)
    watch = _Watch(_Forked(first), stdout, stderr, Stream(control.fileno(), _MESSAGE_BYTES))
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


def _send(control: socket.socket, request: bytes, stdin: bytes, stack: ExitStack) -> tuple[int, int]:
    """Hand over the job and its standard streams; our ends of the two that it writes to."""
    (stdout, stdout_end), (stderr, stderr_end) = open_pipe(stack), open_pipe(stack)
    with ExitStack() as sent:
        given = [memory_file(request), memory_file(stdin) if stdin else os.open(os.devnull, os.O_RDONLY)]
        for descriptor in given:
            sent.callback(os.close, descriptor)
        for end in (stdout_end, stderr_end):
            sent.enter_context(end)  # so that the pipe ends with the job
            given.append(end.fileno())
        socket.send_fds(control, [b"j"], given)
    return stdout.fileno(), stderr.fileno()


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
