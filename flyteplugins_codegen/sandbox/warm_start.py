"""Starting a zygote: in bubblewrap, with the root that a job sees, nothing of it to be written to."""

from __future__ import annotations

import marshal
import os
import socket
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flyteplugins_codegen.sandbox import views, zygote
from flyteplugins_codegen.sandbox.contract import APP
from flyteplugins_codegen.sandbox.inputs import memory_file
from flyteplugins_codegen.sandbox.warm_kinds import ANY, Kind
from flyteplugins_codegen.sandbox.warm_zygotes import Zygote

_FOLDER: Final = "/dev/shm"  # noqa: S108 - where every job gets one of its own, and so does not see what was there
_FORMAT: Final = 2  # of `marshal`, which every Python reads
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
            program = _sent(stack, Path(zygote.__file__).read_bytes())
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
        return [*views.open_namespaces(), *views.empty_places(), *self.root, *views.setenv(env), "--chdir", APP]


def _sent(stack: ExitStack, content: bytes) -> int:
    """A descriptor to read these bytes from, closed with the stack."""
    descriptor = memory_file(content)
    stack.callback(os.close, descriptor)
    return descriptor
