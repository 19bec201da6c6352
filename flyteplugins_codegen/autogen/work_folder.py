"""Copies a working folder for a program in a sandbox, and applies the program's changes to the folder afterwards.

The changes are found by comparing the result with the copy, never with the folder as it is by then, so two programs
that run in one folder at once each apply only their own changes. Files from the sandbox are written without following
links, and no file is ever incomplete.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.sandbox.contract import OUTPUTS, Output, name_flaw
from flyteplugins_codegen.store import is_aside, write_aside

MOST_FILES: Final = 10_000
MOST_MIB: Final = 1024
"""The limits of a working folder: all of it is copied for each run."""
_CHUNK_BYTES = 1 << 20
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class ObstructedPathError(Exception):
    """Something in the folder prevents writing a file; the message continues a sentence that begins with its name."""


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """A folder, by its real path. Names are relative, with `/` between their parts, and were checked before."""

    path: Path

    def write(self, name: str, content: Path | bytes, *, executable: bool = False) -> None:
        """Write a file, and make its parent folders. A file that is replaced keeps its owner and permissions.

        Raises ObstructedPathError for a link or a folder of this name, OSError where the disk does not take it.
        """
        with self._parent(name, make=True) as (folder, last):
            old = _status(folder, last)
            if old and not stat.S_ISREG(old.st_mode):
                raise ObstructedPathError(f"is {_kind_of(old)} in the folder; remove it, or choose another name")
            aside = write_aside(
                folder, content, mode=0o777 if executable else 0o666, replaced=old, is_executable=executable
            )
            try:
                os.rename(aside, last, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(aside, dir_fd=folder)
                raise

    def make_folder(self, name: str) -> None:
        """Make a folder and its parents. Raises ObstructedPathError for something else of this name."""
        with self._parent(f"{name}/.", make=True):
            pass

    def remove_file(self, name: str, *, same_as: Path) -> bool:
        """Remove a file if it still has the content of `same_as`. Returns whether it was removed."""
        with suppress(ObstructedPathError, FileNotFoundError), self._parent(name) as (folder, last):
            status = _status(folder, last)
            if status and stat.S_ISREG(status.st_mode) and _has_content(folder, last, same_as):
                os.unlink(last, dir_fd=folder)
                return True
        return False

    def remove_folder(self, name: str) -> None:
        """Remove a folder if it is empty."""
        with suppress(ObstructedPathError, OSError), self._parent(name) as (folder, last):
            os.rmdir(last, dir_fd=folder)

    @contextmanager
    def _parent(self, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """A descriptor of the parent folder of a name, and the name's last part."""
        *parts, last = name.split("/")
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts:
                parent, descriptor = descriptor, _open_folder(descriptor, part, make=make)
                os.close(parent)
            yield descriptor, last
        finally:
            os.close(descriptor)


def _open_folder(parent: int, name: str, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
    try:
        return os.open(name, _OPEN_FOLDER, dir_fd=parent)
    except OSError as error:
        if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
            raise
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        raise ObstructedPathError(f"has {name!r} above it, which is {_kind_of(status)} in the folder") from error


def _has_content(folder: int, name: str, other: Path) -> bool:
    with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
        return is_same(file, other)


def is_same(file: BinaryIO, other: Path) -> bool:
    """Whether an open file, from its current position, has the content of another file."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderCopy:
    """A copy of a working folder's regular files and folders, in `folder`."""

    folder: Path
    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    size_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderChanges:
    """The changes made to a working folder: sorted relative names; `refused` has the reason for each refused one."""

    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


def copy_folder(source: Path, target: Path) -> FolderCopy:
    """Copy a folder's files for a program, without links, devices, and names that a job does not allow.

    Raises RequestError for a folder that is too large, or a file that cannot be read.
    """
    files, folders, size_bytes = set[str](), set[str](), 0
    for path, status in _entries(source):
        name = path.relative_to(source).as_posix()
        if stat.S_ISDIR(status.st_mode):
            (target / name).mkdir()
            folders.add(name)
        elif _copy_file(path, target / name, status.st_mode):
            files.add(name)
            size_bytes += status.st_size
        if len(files) + len(folders) > MOST_FILES or size_bytes > MOST_MIB << 20:
            raise RequestError(
                f"work_dir {source} holds more than {MOST_FILES} files or {MOST_MIB} MiB; choose another"
            )
    return FolderCopy(folder=target, files=frozenset(files), folders=frozenset(folders), size_bytes=size_bytes)


def _entries(source: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The files and folders in a folder, each folder before its content; those removed meanwhile are left out."""
    waiting = [source]
    while waiting:
        for path in _paths_in(waiting.pop()):
            with suppress(FileNotFoundError):
                status = path.lstat()
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(path)
                if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
                    yield path, status


def _paths_in(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if not (name_flaw(path.name) or is_aside(path.name))]
    except FileNotFoundError:
        return []


def _copy_file(path: Path, target: Path, mode: int) -> bool:
    """Copy a file. Returns False where it was removed meanwhile."""
    try:
        shutil.copyfile(path, target, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except PermissionError as error:
        raise RequestError(f"{path} cannot be read, and all of work_dir is handed to the code: {error}") from error
    target.chmod(0o755 if mode & stat.S_IXUSR else 0o644)
    return True


@dataclass(frozen=True, slots=True)
class FolderResult:
    """The copy of a folder after a program ran in it. `refused` has the reasons for top-level names not collected."""

    files: Mapping[str, Path]
    executable: frozenset[str]
    folders: frozenset[str]
    refused: Mapping[str, str]

    def is_removed(self, name: str) -> bool:
        """Whether a name that is missing here was removed, and is not in an output that was refused."""
        return name.partition("/")[0] not in self.refused and OUTPUTS not in self.refused


def read_result(outputs: Mapping[str, Output], refused: Mapping[str, str]) -> FolderResult:
    """The content of /var/outputs, by names relative to it."""
    files, executable, folders = dict[str, Path](), set[str](), set[str]()
    for name, output in outputs.items():
        if output.is_directory:
            folders |= {name, *(f"{name}/{inner}" for inner in output.folders)}
            files |= {f"{name}/{inner}": path for inner, path in output.files.items()}
            executable |= {f"{name}/{inner}" for inner in output.executable}
        else:
            files[name] = output.files[name]
            executable |= output.executable
    return FolderResult(files, frozenset(executable), frozenset(folders), refused)


def apply_changes(
    result: FolderResult, copied: FolderCopy, folder: Path, *, ignore: str | None = None
) -> FolderChanges:
    """Make the changes in a working folder that a program made in its copy, except to the file named `ignore`.

    Raises OSError where the disk does not take it.
    """
    work = WorkFolder(folder)
    missing = sorted(name for name in copied.files - result.files.keys() if result.is_removed(name) and name != ignore)
    deleted = tuple(name for name in missing if work.remove_file(name, same_as=copied.folder / name))
    for name in sorted(copied.folders - result.folders, key=len, reverse=True):
        if result.is_removed(name):
            work.remove_folder(name)
    refused, written = dict(result.refused), list[str]()
    for name in sorted(result.folders - copied.folders):
        with _noted(name, refused):
            work.make_folder(name)
    for name in sorted(result.files):
        if name != ignore and _is_changed(name, result, copied):
            with _noted(name, refused):
                work.write(name, result.files[name], executable=name in result.executable)
                written.append(name)
    return FolderChanges(written=tuple(written), deleted=deleted, refused=refused)


def _is_changed(name: str, result: FolderResult, copied: FolderCopy) -> bool:
    if name not in copied.files:
        return True
    before = copied.folder / name
    if (name in result.executable) != bool(before.stat().st_mode & stat.S_IXUSR):
        return True
    with result.files[name].open("rb") as file:
        return not is_same(file, before)


@contextmanager
def _noted(name: str, refused: dict[str, str]) -> Iterator[None]:
    """Add the name and the reason to `refused` if its path is obstructed."""
    try:
        yield
    except ObstructedPathError as error:
        refused[name] = str(error)
