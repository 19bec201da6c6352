"""The files of a working folder on their way into a sandbox, and what became of them on their way back.

The program runs on a copy. What it has changed is found by comparing with that copy, never with what lies in the folder
by then: two programs that run in one folder at once each bring back their own changes alone.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.sandbox.contract import OUTPUTS
from flyteplugins_codegen.sandbox.names import name_flaw
from flyteplugins_codegen.sandbox.outputs import Output
from flyteplugins_codegen.toolkit.running.own_folder import InTheWayError, OwnFolder, is_aside, is_same

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
