"""Handing a job its files: bytes as descriptors, paths as read-only binds, or as copies where it may not read them."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.sandbox.folders import is_reachable, require_input, temporary_folder


class Files:
    """The files of one job as bubblewrap's options; `descriptors` are to be inherited by it."""

    def __init__(self, stack: ExitStack, place: Path | None) -> None:
        """`place` is where copies go when the job runs as another user than we do, else None."""
        self.options: list[str] = []
        self.descriptors: list[int] = []
        self._stack = stack
        self._place = place

    def add_all(self, folder: str, files: Mapping[str, Path | bytes]) -> None:
        """Show every file under `folder`. Raises RequestError for a path that is not there."""
        for name, content in files.items():
            if isinstance(content, bytes):
                descriptor = self.add_bytes(content)
                self.options += ["--perms", "0444", "--file", str(descriptor), f"{folder}/{name}"]
            else:
                self.options += ["--ro-bind", str(self._readable(name, content)), f"{folder}/{name}"]

    def add_bytes(self, content: bytes) -> int:
        """A descriptor to read these bytes from, inherited by the job."""
        descriptor = memory_file(content)
        self._stack.callback(os.close, descriptor)
        self.descriptors.append(descriptor)
        return descriptor

    def _readable(self, name: str, path: Path) -> Path:
        path = require_input(name, path)
        if self._place is None or is_open(path):
            return path
        target = temporary_folder(self._stack, self._place) / path.name
        copy_openly(path, target)
        return target


def memory_file(content: bytes) -> int:
    """A descriptor of a file in memory that nobody can change, at its start."""
    descriptor = os.memfd_create("codegen", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


def is_open(path: Path) -> bool:
    """Whether every user can read this file, or this folder and all in it."""
    if not is_reachable(path.parent) or not is_readable(path):
        return False
    if path.is_file():
        return True
    return all(
        is_readable(Path(folder, name)) for folder, folders, files in os.walk(path) for name in (*folders, *files)
    )


def is_readable(path: Path) -> bool:
    """Whether every user can read this file, or list and pass through this folder."""
    mode = path.lstat().st_mode
    wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    return stat.S_ISLNK(mode) or mode & wanted == wanted


def require_readable(folder: Path) -> None:
    """Raise SandboxError where another user could not read this folder. Only its first level is looked at."""
    for path in (folder, *folder.iterdir()):
        if not path.name.startswith(".") and not is_readable(path):  # an installer's lock may be its own
            raise SandboxError(
                f"a sandboxed job runs as another user, and {path} is closed to others; chmod -R o+rX {folder}"
            )


def copy_openly(path: Path, target: Path) -> None:
    """Copy a file or a folder so that every user can read all of it. Symbolic links stay what they are."""
    if path.is_file():
        _link_or_copy(str(path), str(target))
        return
    shutil.copytree(path, target, symlinks=True, copy_function=_link_or_copy)
    for folder, _, _ in os.walk(target):
        Path(folder).chmod(0o755)


def _link_or_copy(source: str, target: str) -> None:
    """A hard link where the file is readable for all and on the same disk, else a copy that is."""
    if Path(source).stat().st_mode & stat.S_IROTH:
        try:
            os.link(source, target)
        except OSError:
            pass
        else:
            return
    shutil.copyfile(source, target)
    Path(target).chmod(0o444)
