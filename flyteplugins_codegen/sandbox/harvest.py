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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from flyteplugins_codegen.sandbox.contract import OUTPUTS, Everything, Job, Limits
from flyteplugins_codegen.sandbox.names import name_flaw
from flyteplugins_codegen.sandbox.outputs import Output

_DEEPEST = 32
_CHUNK_BYTES = 1 << 20
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Harvest:
    """What was taken, what of the declared outputs was not, and why each refused entry was; `exceeded`: a bound was."""

    outputs: dict[str, Output] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    exceeded: bool = False


class _RefusedError(Exception):
    """An entry that is not taken; the text completes `output 'x' ...`."""


class _ExceededError(_RefusedError):
    """A bound of the job was exceeded."""


class _Copies:
    """A folder of copies that goes when the outputs that hold on to it go, or with the sandbox's own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="outputs-", dir=folder))
        self._count = 0
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def next_path(self) -> Path:
        self._count += 1
        return self.folder / str(self._count)


class _Budget:
    """How many entries and bytes may still be taken."""

    def __init__(self, entries: int, size_bytes: int) -> None:
        self._entries, self._left_entries = entries, entries
        self._size_bytes, self._left_bytes = size_bytes, size_bytes

    def count_entry(self) -> bool:
        self._left_entries -= 1
        if self._left_entries < 0:
            raise _ExceededError(f"is or holds one of more than {self._entries} entries (limit output_files)")
        return True

    def count_bytes(self, size: int) -> None:
        if size > self._left_bytes:
            raise _ExceededError(f"exceeds the {self._size_bytes >> 20} MiB of all outputs (limit output_mib)")
        self._left_bytes -= size


def take_outputs(root: int, job: Job, folder: Path) -> Harvest:
    """Copy a job's outputs out of the directory `root`, a descriptor, into `folder`; no process of the job may live.

    Raises OSError when this machine's disk does not take the copies.
    """
    declared = () if isinstance(job.outputs, Everything) else job.outputs
    taker = _Taker(root, job.limits, folder)
    try:
        names = taker.scan(root) if isinstance(job.outputs, Everything) else declared
    except _ExceededError as error:
        return Harvest(refused={OUTPUTS: str(error)}, exceeded=True)
    taken = {name: taker.try_take(name) for name in names}
    return Harvest(
        outputs={name: output for name, output in taken.items() if isinstance(output, Output)},
        missing=tuple(name for name in declared if not isinstance(taken[name], Output)),
        refused={_shown(name): str(error) for name, error in taken.items() if isinstance(error, _RefusedError)},
        exceeded=any(isinstance(error, _ExceededError) for error in taken.values()),
    )


def _shown(name: str) -> str:
    return name if name.isprintable() else ascii(name)


class _Taker:
    def __init__(self, root: int, limits: Limits, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self._budget = _Budget(limits.output_files, limits.output_mib << 20)
        self._copies: _Copies | None = None

    def try_take(self, name: str) -> Output | _RefusedError | None:
        """Copy one output; None where there is none, or why it is not taken."""
        try:
            return self._take(name)
        except FileNotFoundError:
            return None
        except _RefusedError as error:
            return error

    def scan(self, folder: int) -> tuple[str, ...]:
        """The names in a folder. Raises _ExceededError when they are too many, before all are read."""
        with os.scandir(folder) as entries:
            return tuple(entry.name for entry in entries if self._budget.count_entry())

    def _take(self, name: str) -> Output:
        _check_name(name)
        with _opened(self._root, (name,)) as (descriptor, status):
            if not stat.S_ISDIR(status.st_mode):
                files = {name: self._copy(descriptor, status)}
                return Output(name, is_directory=False, size_bytes=status.st_size, files=files, kept=self._copies)
        files, size_bytes = self._take_tree(name)
        return Output(name, is_directory=True, size_bytes=size_bytes, files=files, kept=self._copies)

    def _take_tree(self, name: str) -> tuple[dict[str, Path], int]:
        files, size_bytes = dict[str, Path](), 0
        folders: list[tuple[str, ...]] = [(name,)]
        while folders:
            parts = folders.pop()
            with _opened(self._root, parts) as (folder, _):
                names = self.scan(folder)
            for entry in ((*parts, entry) for entry in names):
                _check_name(entry[-1])
                with _opened(self._root, entry) as (descriptor, status):
                    if stat.S_ISDIR(status.st_mode):
                        folders.append(entry)
                    else:
                        files["/".join(entry[1:])] = self._copy(descriptor, status)
                        size_bytes += status.st_size
        return files, size_bytes

    def _copy(self, descriptor: int, status: os.stat_result) -> Path:
        self._budget.count_bytes(status.st_size)
        self._copies = self._copies or _Copies(self._folder)
        path = self._copies.next_path()
        left = status.st_size  # never more, should the file grow
        with path.open("xb") as file:
            while left and (chunk := os.read(descriptor, min(left, _CHUNK_BYTES))):
                file.write(chunk)
                left -= len(chunk)
        return path


def _check_name(name: str) -> None:
    if flaw := name_flaw(name):
        raise _RefusedError(f"holds the name {name!a}, which {flaw}")


@contextmanager
def _opened(root: int, parts: tuple[str, ...]) -> Iterator[tuple[int, os.stat_result]]:
    """A descriptor of the file or folder at `parts` under `root`, each step checked."""
    if len(parts) > _DEEPEST:
        raise _RefusedError(f"is nested more than {_DEEPEST} folders deep")
    descriptor = os.dup(root)
    try:
        for part in parts:
            parent, descriptor = descriptor, _open_entry(descriptor, part)
            os.close(parent)
        yield descriptor, os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _open_entry(folder: int, name: str) -> int:
    _check_status(name, os.stat(name, dir_fd=folder, follow_symlinks=False))
    descriptor = os.open(name, _OPEN, dir_fd=folder)
    try:
        _check_status(name, os.fstat(descriptor))  # again: what was opened is what counts
    except _RefusedError:
        os.close(descriptor)
        raise
    return descriptor


def _check_status(name: str, status: os.stat_result) -> None:
    mode = status.st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise _RefusedError(f"holds {name!a}, which is {_kind_of(mode)}; write regular files")
    if stat.S_ISREG(mode) and status.st_nlink != 1:
        raise _RefusedError(f"holds {name!a}, which has {status.st_nlink} hard links; write a file of its own")
    if not mode & stat.S_IRUSR or (stat.S_ISDIR(mode) and not mode & stat.S_IXUSR):
        raise _RefusedError(f"holds {name!a}, which its owner may not read; leave the permissions alone")


def _kind_of(mode: int) -> str:
    kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")
