"""Controls: running a hostile program as a careless person would."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from hostile import Control, Program, attack
from hostile.host import Host
from hostile.leaving import Leaving
from hostile.trial import kill_left_behind, render_told

_THROWN_AWAY = [
    *("unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"),
    *("--fork", "--kill-child", "--mount-proc", "--propagation", "private"),
]


def run_unsandboxed(program: Program, host: Host, variables: Mapping[str, str]) -> str:
    """What it says where nothing holds it, apart from a folder that it is given for its own."""
    entry = _entry(program)
    with _folder(host) as folder:
        if program.before:
            _run(program.before, folder, variables, entry)
        return _run(program.code, folder, variables, entry)


def read_carelessly(leaving: Leaving, host: Host, variables: Mapping[str, str]) -> bytes:
    """What a reader that follows links takes from what this leaves; of what changes, a second's worth."""
    with _folder(host) as folder:
        _run(leaving.code, folder, variables)
        try:
            end = time.monotonic() + 1
            read = _read_all(folder / "outputs")
            while leaving.varies and b"LEAK" not in read and time.monotonic() < end:
                read += _read_all(folder / "outputs")
            return read
        finally:
            kill_left_behind(variables["RUN"])


def _read_all(outputs: Path) -> bytes:
    read = b""
    for folder, _, names in os.walk(outputs, followlinks=True):
        for name in names:
            with suppress(OSError):  # it is gone meanwhile
                read += Path(folder, name).read_bytes() if Path(folder, name).is_file() else b""
    return read


@contextmanager
def _folder(host: Host) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="unsandboxed-", dir=host.folder.parent))
    try:
        _lay_out(folder, host)
        yield folder
    finally:
        shutil.rmtree(folder)


def _lay_out(folder: Path, host: Host) -> None:
    for name in ("app", "outputs", "inputs", "walked"):
        (folder / name).mkdir()
    (folder / "walked/file").touch()
    shutil.copytree(host.packages, folder / "packages")
    for name, content in host.inputs.items():
        if isinstance(content, bytes):
            (folder / "inputs" / name).write_bytes(content)
        else:
            (shutil.copytree if content.is_dir() else shutil.copyfile)(content, folder / "inputs" / name)
    shutil.copyfile(attack.__file__, folder / "app/attack.py")


def _run(code: str, folder: Path, variables: Mapping[str, str], entry: Sequence[str] = ()) -> str:
    (folder / "app/program.py").write_text(code)
    (folder / "app/told").write_text(render_told(variables))
    places = {f"FLYTE_CODEGEN_{name.upper()}": str(folder / name) for name in ("app", "inputs", "outputs")}
    scope = {"ROOT": str(folder / "walked"), "PROCESSES": variables["HOST_PID"], "PYTHONPATH": str(folder / "packages")}
    kept_open = os.open(folder, os.O_RDONLY)
    try:
        running = subprocess.Popen(
            [*entry, sys.executable, str(folder / "app/attack.py"), variables["RUN"]],
            env={**os.environ, **places, **scope, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=folder / "app",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(kept_open,),
            start_new_session=True,
            text=True,
        )
    finally:
        os.close(kept_open)
    with running:
        try:
            return running.communicate(timeout=60)[0]
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)


def _entry(program: Program) -> list[str]:
    if program.control is not Control.NAMESPACES:
        return []
    return [*_THROWN_AWAY, *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--"]
