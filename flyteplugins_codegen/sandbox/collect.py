"""Taking what a job left under /var/outputs, which is data from an adversary.

Everything is opened relative to a directory descriptor, without following links and without blocking; only regular
files with a single link are read (a second link may lead to a file that is not the job's), and the number of entries,
their depth, names and bytes are bounded. The walk is iterative: a tree of ten thousand nested folders is refused, not
fatal. Copies get names of our own choosing.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from flyteplugins_codegen.sandbox.contract import OUTPUTS, Everything, Job, Limits, Output, name_flaw

# What may be taken of what a job left under /var/outputs: names, kinds of files, how deep, how many, how much.

DEEPEST: Final = 32
"""How many folders and files a path may have."""


class RefusedError(Exception):
    """An entry that is not taken; the text completes `output 'x' ...`."""


class ExceededError(RefusedError):
    """A bound of the job was exceeded."""


class Budget:
    """How many entries and bytes may still be taken of one job."""

    def __init__(self, limits: Limits) -> None:
        self._entries = self._left_entries = limits.output_files
        self._bytes = self._left_bytes = limits.output_mib << 20

    def count_entries(self, number: int = 1) -> None:
        """Raises ExceededError when these are too many."""
        self._left_entries -= number
        if self._left_entries < 0:
            raise ExceededError(f"is or holds one of more than {self._entries} entries (limit output_files)")

    def count_bytes(self, size: int) -> None:
        """Raises ExceededError when these are too many; then they are not counted."""
        if size > self._left_bytes:
            raise ExceededError(f"exceeds the {self._bytes >> 20} MiB of all outputs (limit output_mib)")
        self._left_bytes -= size


class Copies:
    """A folder of copies that goes when the outputs that hold on to it go, or with the sandbox's own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="outputs-", dir=folder))
        self._count = 0
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def next_path(self) -> Path:
        """A place of our own naming for one more copy."""
        self._count += 1
        return self.folder / str(self._count)


def check_name(name: str) -> None:
    """Raise RefusedError for a name that is not safe as a file name."""
    if flaw := name_flaw(name):
        raise RefusedError(f"holds the name {name!a}, which {flaw}")


def check_depth(parts: tuple[str, ...]) -> None:
    """Raise RefusedError for a path that is too long to be followed."""
    if len(parts) > DEEPEST:
        raise RefusedError(f"is nested more than {DEEPEST} folders deep")


def check_kind(name: str, mode: int, links: int) -> None:
    """Raise RefusedError for what is no plain file or folder that its owner may read."""
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise RefusedError(f"holds {name!a}, which is {_kind_of(mode)}; write regular files")
    if stat.S_ISREG(mode) and links != 1:
        raise RefusedError(f"holds {name!a}, which has {links} hard links; write a file of its own")
    if not mode & stat.S_IRUSR or (stat.S_ISDIR(mode) and not mode & stat.S_IXUSR):
        raise RefusedError(f"holds {name!a}, which its owner may not read; leave the permissions alone")


def _kind_of(mode: int) -> str:
    kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


_CHUNK_BYTES = 1 << 20
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Harvest:
    """What was taken, what of the declared outputs was not, and why each refused entry was; `exceeded`: a bound was."""

    outputs: dict[str, Output] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    exceeded: bool = False


Taken: TypeAlias = Output | RefusedError | None
"""What became of one name: the copy, or why it was not taken; None where there was nothing."""


def take_outputs(root: int, job: Job, folder: Path) -> Harvest:
    """Copy a job's outputs out of the directory `root`, a descriptor, into `folder`; no process of the job may live.

    Raises OSError when this machine's disk does not take the copies.
    """
    taker = _Taker(root, job.limits, folder)
    try:
        names = taker.scan(root) if isinstance(job.outputs, Everything) else job.outputs
    except ExceededError as error:
        return refuse_all(error)
    return gather(job, {name: taker.try_take(name) for name in names})


def refuse_all(error: ExceededError) -> Harvest:
    """What is told where there were too many names even to look at."""
    return Harvest(refused={OUTPUTS: str(error)}, exceeded=True)


def gather(job: Job, taken: Mapping[str, Taken]) -> Harvest:
    """All outputs of a job out of what became of each name."""
    declared = () if isinstance(job.outputs, Everything) else job.outputs
    return Harvest(
        outputs={name: output for name, output in taken.items() if isinstance(output, Output)},
        missing=tuple(name for name in declared if not isinstance(taken.get(name), Output)),
        refused={_shown(name): str(error) for name, error in taken.items() if isinstance(error, RefusedError)},
        exceeded=any(isinstance(error, ExceededError) for error in taken.values()),
    )


def _shown(name: str) -> str:
    return name if name.isprintable() else ascii(name)


class _Taker:
    def __init__(self, root: int, limits: Limits, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self._budget = Budget(limits)
        self._copies: Copies | None = None

    def try_take(self, name: str) -> Taken:
        """Copy one output; None where there is none, or why it is not taken."""
        try:
            return self._take(name)
        except FileNotFoundError:
            return None
        except RefusedError as error:
            return error

    def scan(self, folder: int) -> tuple[str, ...]:
        """The names in a folder. Raises ExceededError when they are too many, before all are read."""
        with os.scandir(folder) as entries:
            return tuple(self._counted(entry.name) for entry in entries)

    def _counted(self, name: str) -> str:
        self._budget.count_entries()
        return name

    def _take(self, name: str) -> Output:
        check_name(name)
        with _opened(self._root, (name,)) as (descriptor, status):
            if not stat.S_ISDIR(status.st_mode):
                return self._take_file(name, descriptor, status)
        return self._take_tree(name)

    def _take_file(self, name: str, descriptor: int, status: os.stat_result) -> Output:
        return Output(
            name,
            is_directory=False,
            size_bytes=status.st_size,
            files={name: self._copy(descriptor, status)},
            executable=frozenset((name,) if status.st_mode & stat.S_IXUSR else ()),
            kept=self._copies,
        )

    def _take_tree(self, name: str) -> Output:
        files, executable, found, size_bytes = dict[str, Path](), set[str](), list[str](), 0
        folders: list[tuple[str, ...]] = [(name,)]
        while folders:
            parts = folders.pop()
            with _opened(self._root, parts) as (folder, _):
                names = self.scan(folder)
            for entry in ((*parts, entry) for entry in names):
                check_name(entry[-1])
                with _opened(self._root, entry) as (descriptor, status):
                    inner = "/".join(entry[1:])
                    if stat.S_ISDIR(status.st_mode):
                        folders.append(entry)
                        found.append(inner)
                        continue
                    files[inner] = self._copy(descriptor, status)
                    executable |= {inner} if status.st_mode & stat.S_IXUSR else set()
                    size_bytes += status.st_size
        return Output(
            name,
            is_directory=True,
            size_bytes=size_bytes,
            files=files,
            executable=frozenset(executable),
            folders=tuple(found),
            kept=self._copies,
        )

    def _copy(self, descriptor: int, status: os.stat_result) -> Path:
        self._budget.count_bytes(status.st_size)
        self._copies = self._copies or Copies(self._folder)
        path = self._copies.next_path()
        left = status.st_size  # never more, should the file grow
        with path.open("xb") as file:
            while left and (chunk := os.read(descriptor, min(left, _CHUNK_BYTES))):
                file.write(chunk)
                left -= len(chunk)
        return path


@contextmanager
def _opened(root: int, parts: tuple[str, ...]) -> Iterator[tuple[int, os.stat_result]]:
    """A descriptor of the file or folder at `parts` under `root`, each step checked."""
    check_depth(parts)
    descriptor = os.dup(root)
    try:
        for part in parts:
            parent, descriptor = descriptor, _open_entry(descriptor, part)
            os.close(parent)
        yield descriptor, os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _open_entry(folder: int, name: str) -> int:
    _check(name, os.stat(name, dir_fd=folder, follow_symlinks=False))
    descriptor = os.open(name, _OPEN, dir_fd=folder)
    try:
        _check(name, os.fstat(descriptor))  # again: what was opened is what counts
    except RefusedError:
        os.close(descriptor)
        raise
    return descriptor


def _check(name: str, status: os.stat_result) -> None:
    check_kind(name, status.st_mode, status.st_nlink)
