"""The files of a working folder on their way into a sandbox, and what became of them on their way back.

The program runs on a copy. What it has changed is found by comparing with that copy, never with what lies in the folder
by then: two programs that run in one folder at once each bring back their own changes alone.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.sandbox.contract import OUTPUTS, Output, name_flaw
from flyteplugins_codegen.store import is_aside, write_aside

# A caller's folder, checked before anything is made in it.

_SHOWN_CHARS = 100


def read_folder(given: Any, name: str) -> Path:
    """The folder by its absolute path; it need not be there yet. `name` is what the argument is called.

    Raises ArgumentTypeError for what is no path, RequestError for a path that cannot be that of a folder.
    """
    if not isinstance(given, (str, os.PathLike)):
        raise ArgumentTypeError(f"{name} is {type(given).__name__}; pass the path of a folder")
    shown = f"{name}={str(given)[:_SHOWN_CHARS]!a}"
    if not str(given):
        raise RequestError(f"{shown} is no path; pass that of a folder")
    folder = Path(given).absolute()
    try:
        is_other = not stat.S_ISDIR(folder.stat().st_mode)
    except FileNotFoundError:
        is_other = False
    except (OSError, ValueError) as error:  # the latter of NUL bytes and lone surrogates
        reason = error.strerror if isinstance(error, OSError) else error
        raise RequestError(f"{shown} is no path: {reason}; pass that of a folder") from None
    if is_other:
        raise RequestError(f"{shown} is a file; pass the path of a folder, or of none that is there yet")
    return folder


# A folder of this machine that a stranger's files go into: no link is followed, and no file is there by half.

_CHUNK_BYTES = 1 << 20
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
            aside = write_aside(folder, content, mode=0o777 if executable else 0o666, replaced=old)
            try:
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


MOST_FILES: Final = 10_000
MOST_MIB: Final = 1024
"""How much a working folder may hold: all of it is copied for each run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """A copy of a working folder at one moment, in `folder`: regular files and the folders above them."""

    folder: Path
    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    size_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What was done to a working folder: names relative to it, sorted; `refused` says of each name why it was not."""

    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


def copy_folder(source: Path, target: Path) -> Copied:
    """Copy a folder's files for a program. Links, devices, and names that no job may give a file, are left out.

    Raises RequestError for a folder that holds too much, or a file that cannot be read.
    """
    files, folders, size_bytes = set[str](), set[str](), 0
    for path, status in _entries(source):
        name = path.relative_to(source).as_posix()
        if stat.S_ISDIR(status.st_mode):
            (target / name).mkdir()
            folders.add(name)
        elif _is_copied(path, target / name, status.st_mode):
            files.add(name)
            size_bytes += status.st_size
        if len(files) + len(folders) > MOST_FILES or size_bytes > MOST_MIB << 20:
            raise RequestError(
                f"work_dir {source} holds more than {MOST_FILES} files or {MOST_MIB} MiB; choose another"
            )
    return Copied(folder=target, files=frozenset(files), folders=frozenset(folders), size_bytes=size_bytes)


def _entries(source: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every folder before what it holds. What somebody removes meanwhile is not there."""
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


def _is_copied(path: Path, target: Path, mode: int) -> bool:
    try:
        shutil.copyfile(path, target, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except PermissionError as error:
        raise RequestError(f"{path} cannot be read, and all of work_dir is handed to the code: {error}") from error
    target.chmod(0o755 if mode & stat.S_IXUSR else 0o644)
    return True


@dataclass(frozen=True, slots=True)
class Left:
    """What a program left of its copy. `closed` are the names at the top that were not taken, and why."""

    files: Mapping[str, Path]
    executable: frozenset[str]
    folders: frozenset[str]
    closed: Mapping[str, str]

    def tells_of(self, name: str) -> bool:
        """Whether a name that is not here was removed; else it may be in what could not be taken."""
        return name.partition("/")[0] not in self.closed and OUTPUTS not in self.closed


def read_left(outputs: Mapping[str, Output], refused: Mapping[str, str]) -> Left:
    """What there was below /var/outputs, by names relative to it."""
    files, executable, folders = dict[str, Path](), set[str](), set[str]()
    for name, output in outputs.items():
        if output.is_directory:
            folders |= {name, *(f"{name}/{inner}" for inner in output.folders)}
            files |= {f"{name}/{inner}": path for inner, path in output.files.items()}
            executable |= {f"{name}/{inner}" for inner in output.executable}
        else:
            files[name] = output.files[name]
            executable |= output.executable
    return Left(files, frozenset(executable), frozenset(folders), refused)


def bring_back(left: Left, copied: Copied, folder: Path, *, keep_out: str | None = None) -> Changes:
    """Do to a working folder what a program did to its copy; `keep_out` names a file that is none of it.

    Raises OSError where the disk does not take it.
    """
    own = OwnFolder(folder)
    gone = sorted(name for name in copied.files - left.files.keys() if left.tells_of(name) and name != keep_out)
    deleted = tuple(name for name in gone if own.remove_file(name, same_as=copied.folder / name))
    for name in sorted(copied.folders - left.folders, key=len, reverse=True):
        if left.tells_of(name):
            own.remove_folder(name)
    refused = dict(left.closed)
    for name in sorted(left.folders - copied.folders):
        _is_done(partial(own.make_folder, name), name, refused)
    written = tuple(
        name
        for name in sorted(left.files)
        if name != keep_out and _is_changed(name, left, copied) and _is_done(_writing(own, name, left), name, refused)
    )
    return Changes(written=written, deleted=deleted, refused=refused)


def _is_changed(name: str, left: Left, copied: Copied) -> bool:
    if name not in copied.files:
        return True
    before = copied.folder / name
    if (name in left.executable) != bool(before.stat().st_mode & stat.S_IXUSR):
        return True
    with left.files[name].open("rb") as file:
        return not is_same(file, before)


def _writing(own: OwnFolder, name: str, left: Left) -> Callable[[], None]:
    return partial(own.write, name, left.files[name], executable=name in left.executable)


def _is_done(act: Callable[[], None], name: str, refused: dict[str, str]) -> bool:
    try:
        act()
    except InTheWayError as error:
        refused[name] = str(error)
        return False
    return True
