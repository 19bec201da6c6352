"""Controls: running a hostile program as a careless person would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hostile import Control, Program, attack
from hostile.host import Host
from hostile.leaving import Leaving
from hostile.trial import kill_left_behind, left_behind, render_told

_THROWN_AWAY = [
    *("unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"),
    *("--fork", "--kill-child", "--mount-proc", "--propagation", "private"),
]


@dataclass(frozen=True)
class Outcome:
    """What a program said, and which of its processes were there after that, or after the patience had passed."""

    said: list[str]
    staying: list[str]


def run_unsandboxed(program: Program, host: Host, variables: Mapping[str, str]) -> Outcome:
    """What comes of it where nothing holds it, apart from a folder that it is given for its own."""
    careless = _Careless(variables, _entry(program), 0.5 if program.control is Control.STAYS else 60.0)
    with _folder(host) as folder:
        try:
            if program.before:
                careless.run(program.before, folder)
            said = careless.run(program.code, folder)
            return Outcome(said.splitlines(), left_behind(variables["RUN"]))
        finally:
            kill_left_behind(variables["RUN"])


def read_carelessly(leaving: Leaving, host: Host, variables: Mapping[str, str]) -> bytes:
    """What a reader that follows links takes from what this leaves; of what changes, a second's worth."""
    with _folder(host) as folder:
        try:
            _Careless(variables).run(leaving.code, folder)
            end = time.monotonic() + 1
            read = _read_all(folder / "outputs")
            while leaving.varies and b"LEAK" not in read and time.monotonic() < end:
                read += _read_all(folder / "outputs")
            return read
        finally:
            kill_left_behind(variables["RUN"])


@dataclass(frozen=True)
class _Careless:
    """A way to run a program that hands on all that there is: variables, descriptors, the rights of whoever runs it."""

    variables: Mapping[str, str]
    entry: Sequence[str] = ()
    patience_s: float = 60.0

    def run(self, code: str, folder: Path) -> str:
        """What it says. It may still be there afterwards."""
        (folder / "app/program.py").write_text(code)
        (folder / "app/told").write_text(render_told(self.variables))
        command = [*self.entry, sys.executable, str(folder / "app/attack.py"), self.variables["RUN"]]
        kept_open = os.open(folder, os.O_RDONLY)
        with (folder / "said").open("wb") as said:
            running = subprocess.Popen(
                command,
                env=self._env(folder),
                cwd=folder / "app",
                stdin=subprocess.DEVNULL,
                stdout=said,  # and no pipe, which what stays would hold open
                stderr=subprocess.STDOUT,
                pass_fds=(kept_open,),
                start_new_session=True,
            )
        os.close(kept_open)
        with suppress(subprocess.TimeoutExpired):
            running.wait(self.patience_s)
        return (folder / "said").read_text(errors="replace")

    def _env(self, folder: Path) -> dict[str, str]:
        places = {f"FLYTE_CODEGEN_{name.upper()}": str(folder / name) for name in ("app", "inputs", "outputs")}
        scope = {"ROOT": str(folder / "walked"), "PROCESSES": self.variables["HOST_PID"]}
        paths = {"PYTHONPATH": str(folder / "packages"), "PYTHONDONTWRITEBYTECODE": "1"}
        return {**os.environ, **places, **scope, **paths}


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


def _entry(program: Program) -> list[str]:
    if program.control is not Control.NAMESPACES:
        return []
    return [*_THROWN_AWAY, *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--"]
