"""Temporary folders of a sandbox, and which folders other users can reach."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import tempfile
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

from flyteplugins_codegen.errors import RequestError, SandboxUnavailableError

# Names that say which process left something behind, so that the next one can clear away what no living one owns.

_OWNED = re.compile(r"codegen-[a-z]+-(?P<where>[0-9a-f]+-\d+)-(?P<pid>\d+)-(?P<began>\d+)-")


def owned_prefix(kind: str) -> str:
    """How the names of this process's own things begin: where its number means it, that number, and when it began."""
    return f"codegen-{kind}-{_mark(os.getpid())}-"


def is_abandoned(name: str) -> bool:
    """Whether this names something whose owner has ended. Of what is owned elsewhere nothing is known."""
    match = _OWNED.match(name)
    if match is None or match["where"] != _where():
        return False
    return (_beginning(int(match["pid"])) or 0) != int(match["began"])


@cache
def _mark(pid: int) -> str:
    return f"{_where()}-{pid}-{_beginning(pid) or 0}"


@cache
def _where() -> str:
    """The boot of the machine, with which folders may be shared, and its namespace of process numbers."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        return f"{boot[:8]}-{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:  # not Linux: nothing is known of any process
        return secrets.token_hex(4) + "-0"


def _beginning(pid: int) -> int | None:
    """When a process began, in ticks since the machine did: its number alone may have been given to another since."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(status.rpartition(")")[2].split()[19])


def make_folder(stack: ExitStack) -> Path:
    """A sandbox's own folder, which others can pass through and not list; its `outputs` is ours alone."""
    place = open_place()
    _sweep(place)
    folder = temporary_folder(stack, place)
    (folder / "outputs").mkdir(mode=0o700)
    return folder


def temporary_folder(stack: ExitStack, parent: Path) -> Path:
    """A new folder that others can pass through and not list, removed with the stack."""
    folder = Path(tempfile.mkdtemp(prefix=owned_prefix("sandbox"), dir=parent))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o711)
    return folder


@cache
def _sweep(place: Path) -> None:
    """Once for each process, remove the folders that killed processes of ours have left there."""
    for name in os.listdir(place):  # noqa: PTH208 - a path for each of thousands of files takes 50 ms
        if is_abandoned(name):
            with suppress(OSError):  # another one sweeps too
                _remove(place / name)


def _remove(folder: Path) -> None:
    if folder.lstat().st_uid == os.geteuid():
        shutil.rmtree(folder)


def open_place() -> Path:
    """A folder for temporary files that every user can reach."""
    for candidate in (tempfile.gettempdir(), "/tmp", "/var/tmp"):  # noqa: S108 - only a place for mkdtemp
        if is_reachable(Path(candidate)):
            return Path(candidate)
    raise SandboxUnavailableError("no folder for temporary files is open to other users; set TMPDIR to one that is")


def is_reachable(path: Path) -> bool:
    """Whether every user can pass through this folder and those above it."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (path, *path.absolute().parents))


def open_to_all(folder: Path) -> None:
    """Let every user read a folder of ours and all in it, which the caller's umask may have closed to others."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)


def require_input(name: str, path: Path) -> Path:
    """The absolute path of a job's file or folder. Raises RequestError where there is none."""
    if not (path.is_file() or path.is_dir()):
        raise RequestError(f"{name!r} of a sandboxed job: {path} is neither a file nor a folder")
    return path.absolute()
