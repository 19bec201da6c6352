"""A folder of this machine that a stranger's files go into: no link is followed, and no file is there by half.

Every step on the way to a file is opened relative to the last one and without following links, so that nothing outside
the folder is touched, whatever its names lead to. A file is written aside and renamed.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_CHUNK_BYTES = 1 << 20
_ASIDE = ".codegen-aside-"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class InTheWayError(Exception):
    """Something in the folder keeps a file from being written; the text completes `'x' ...`."""


@dataclass(frozen=True, slots=True)
class OwnFolder:
    """A folder, by its real path. Names are relative, their parts joined by `/`, and were checked before."""

    path: Path

    def write(self, name: str, content: Path | bytes, *, executable: bool = False) -> None:
        """Put a file in place, with the folders above it. Of a file that is there, owner and permissions stay.

        Raises InTheWayError for a link or a folder of that name, OSError where the disk does not take it.
        """
        with self._above(name, make=True) as (folder, last):
            old = _status(folder, last)
            if old and not stat.S_ISREG(old.st_mode):
                raise InTheWayError(f"is {_kind_of(old)} in the folder; remove it, or choose another name")
            aside = _ASIDE + secrets.token_hex(8)
            try:
                _write_aside(folder, aside, content, 0o777 if executable else 0o666, old)
                os.rename(aside, last, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(aside, dir_fd=folder)
                raise

    def make_folder(self, name: str) -> None:
        """Make a folder, with those above it. Raises InTheWayError for something else of that name."""
        with self._above(f"{name}/.", make=True):
            pass

    def remove_file(self, name: str, *, same_as: Path) -> bool:
        """Remove a file that still has this content; whether it was removed."""
        with suppress(InTheWayError, FileNotFoundError), self._above(name) as (folder, last):
            status = _status(folder, last)
            if status and stat.S_ISREG(status.st_mode) and _has_content(folder, last, same_as):
                os.unlink(last, dir_fd=folder)
                return True
        return False

    def remove_folder(self, name: str) -> None:
        """Remove a folder if nothing is in it."""
        with suppress(InTheWayError, OSError), self._above(name) as (folder, last):
            os.rmdir(last, dir_fd=folder)

    @contextmanager
    def _above(self, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """A descriptor of the folder that holds the last part of a name, and that part."""
        *parts, last = name.split("/")
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts:
                above, descriptor = descriptor, _open_folder(descriptor, part, make=make)
                os.close(above)
            yield descriptor, last
        finally:
            os.close(descriptor)


def _open_folder(above: int, name: str, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=above)
    try:
        return os.open(name, _FOLDER, dir_fd=above)
    except OSError as error:
        if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
            raise
        status = os.stat(name, dir_fd=above, follow_symlinks=False)
        raise InTheWayError(f"has {name!r} above it, which is {_kind_of(status)} in the folder") from error


def _write_aside(folder: int, name: str, content: Path | bytes, mode: int, old: os.stat_result | None) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            with content.open("rb") as source:
                shutil.copyfileobj(source, file, _CHUNK_BYTES)
        if old:
            with suppress(PermissionError):
                os.fchown(descriptor, old.st_uid, old.st_gid)
            # Whoever may read it may execute it, and nobody else.
            os.fchmod(descriptor, old.st_mode & 0o666 | (old.st_mode >> 2 & mode & 0o111))


def is_aside(name: str) -> bool:
    """Whether a file of this name is one that is being written."""
    return name.startswith(_ASIDE)


def _has_content(folder: int, name: str, other: Path) -> bool:
    with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
        return is_same(file, other)


def is_same(file: BinaryIO, other: Path) -> bool:
    """Whether an open file, from where it is, has the content of another one."""
    if os.fstat(file.fileno()).st_size != other.stat().st_size:
        return False
    with other.open("rb") as second:
        while chunk := file.read(_CHUNK_BYTES):
            if second.read(len(chunk)) != chunk:
                return False
    return True


def _status(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _kind_of(status: os.stat_result) -> str:
    kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFREG: "a file"}
    return kinds.get(stat.S_IFMT(status.st_mode), "a device or a pipe")
