"""Collecting what a job left under /var/outputs, which is data from an adversary.

Everything is opened relative to a directory descriptor, without following links and without blocking. Only regular
files with a single link are read (a second link may lead to a file that is not the job's), and the number of entries,
their depth, names and bytes are bounded. The walk is iterative: a tree of ten thousand nested folders is refused, not
fatal. Copies get names of our own choosing. The rules also apply to what a container sends (`container.collect`).
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from flyteplugins_codegen.sandbox.contract import OUTPUTS, Everything, Job, Limits, Output, name_flaw

MAX_DEPTH: Final = 32
"""How many folders and files a path may have."""

_CHUNK_BYTES = 1 << 20
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class RefusedError(Exception):
    """An entry that is not collected; the text completes `output 'x' ...`."""


class ExceededError(RefusedError):
    """A limit of the job was exceeded."""


@dataclass(frozen=True, slots=True)
class CollectedOutputs:
    """The outputs of a job, the declared ones that are missing, and the reason for each refusal.

    `exceeded` says whether a limit of the job was exceeded.
    """

    outputs: dict[str, Output] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    exceeded: bool = False


Outcome: TypeAlias = Output | RefusedError | None
"""The copy of one output, or why it was refused, or None if there is none."""


def collect_outputs(root: int, job: Job, folder: Path) -> CollectedOutputs:
    """Copy a job's outputs from the directory `root`, a descriptor, into `folder`; no process of the job may live.

    Raises OSError if this machine's disk does not take the copies.
    """
    collector = _FolderCollector(root, job.limits, folder)
    try:
        names = collector.scan(root) if isinstance(job.outputs, Everything) else job.outputs
    except ExceededError as error:
        return refuse_all(error)
    return gather(job, {name: collector.collect(name) for name in names})


def refuse_all(error: ExceededError) -> CollectedOutputs:
    """The result for a folder with too many names to look at any of them."""
    return CollectedOutputs(refused={OUTPUTS: str(error)}, exceeded=True)


def gather(job: Job, outcomes: Mapping[str, Outcome]) -> CollectedOutputs:
    """Combine the outcomes of all names into the outputs of a job."""
    declared = () if isinstance(job.outputs, Everything) else job.outputs
    errors = {name: error for name, error in outcomes.items() if isinstance(error, RefusedError)}
    return CollectedOutputs(
        outputs={name: output for name, output in outcomes.items() if isinstance(output, Output)},
        missing=tuple(name for name in declared if not isinstance(outcomes.get(name), Output)),
        refused={name if name.isprintable() else ascii(name): str(error) for name, error in errors.items()},
        exceeded=any(isinstance(error, ExceededError) for error in errors.values()),
    )


# --- what both readers of outputs share -------------------------------------------------------------------------------


class OutputCopies:
    """The copies of one job's outputs, within the job's limits.

    They are removed with the last output that holds on to this object, or with the sandbox's own folder.
    """

    def __init__(self, limits: Limits, parent: Path) -> None:
        self._entries = self._remaining_entries = limits.output_files
        self._bytes = self._remaining_bytes = limits.output_mib << 20
        self._parent = parent
        self._folder: Path | None = None
        self._count = 0

    def count_entries(self, number: int = 1) -> None:
        """Raises ExceededError if these are too many."""
        self._remaining_entries -= number
        if self._remaining_entries < 0:
            raise ExceededError(f"is or holds one of more than {self._entries} entries (limit output_files)")

    def add(self, size_bytes: int, chunks: Iterator[bytes]) -> tuple[Path, int]:
        """Copy that many bytes; return the path of the copy, and how many bytes there were too few.

        Raises ExceededError for a size that is too large, before any of it is read; then it is not counted.
        """
        if size_bytes > self._remaining_bytes:
            raise ExceededError(f"exceeds the {self._bytes >> 20} MiB of all outputs (limit output_mib)")
        self._remaining_bytes -= size_bytes
        path = self._next_path()
        with path.open("xb") as file:
            while size_bytes and (chunk := next(chunks, None)) is not None:
                size_bytes -= file.write(chunk[:size_bytes])  # never more, even if the file grows
        return path, size_bytes

    def _next_path(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="outputs-", dir=self._parent))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._count += 1
        return self._folder / str(self._count)


@dataclass(frozen=True, slots=True)
class CopiedEntry:
    """A file or folder of an output; `copy` is None for a folder. `parts` is its path, the output's name first."""

    parts: tuple[str, ...]
    mode: int
    size_bytes: int = 0
    copy: Path | None = None


def make_output(entries: Iterable[CopiedEntry], copies: OutputCopies) -> Output:
    """The output that consists of these entries: itself first, then, if it is a folder, all that is in it."""
    first, *inner = entries
    name = first.parts[0]
    if first.copy is not None:
        executable = frozenset((name,) if first.mode & stat.S_IXUSR else ())
        return Output(
            name,
            is_directory=False,
            size_bytes=first.size_bytes,
            files={name: first.copy},
            executable=executable,
            kept=copies,
        )
    paths = {"/".join(entry.parts[1:]): entry for entry in inner}
    return Output(
        name,
        is_directory=True,
        size_bytes=sum(entry.size_bytes for entry in inner),
        files={path: entry.copy for path, entry in paths.items() if entry.copy is not None},
        executable=frozenset(path for path, entry in paths.items() if entry.copy and entry.mode & stat.S_IXUSR),
        folders=tuple(path for path, entry in paths.items() if entry.copy is None),
        kept=copies,
    )


def check_name(name: str) -> None:
    """Raise RefusedError for a name that is not safe as a file name."""
    if flaw := name_flaw(name):
        raise RefusedError(f"holds the name {name!a}, which {flaw}")


def check_depth(parts: tuple[str, ...]) -> None:
    """Raise RefusedError for a path that is too deep."""
    if len(parts) > MAX_DEPTH:
        raise RefusedError(f"is nested more than {MAX_DEPTH} folders deep")


def check_kind(name: str, mode: int, links: int) -> None:
    """Raise RefusedError for anything but a plain file or folder that its owner may read."""
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
        kind = kinds.get(stat.S_IFMT(mode), "a device")
        raise RefusedError(f"holds {name!a}, which is {kind}; write regular files")
    if stat.S_ISREG(mode) and links != 1:
        raise RefusedError(f"holds {name!a}, which has {links} hard links; write a file of its own")
    if not mode & stat.S_IRUSR or (stat.S_ISDIR(mode) and not mode & stat.S_IXUSR):
        raise RefusedError(f"holds {name!a}, which its owner may not read; leave the permissions alone")


# --- reading a folder -------------------------------------------------------------------------------------------------


class _FolderCollector:
    """Collects outputs from the directory `root`, a descriptor."""

    def __init__(self, root: int, limits: Limits, folder: Path) -> None:
        self._root = root
        self._copies = OutputCopies(limits, folder)

    def collect(self, name: str) -> Outcome:
        """Copy one output."""
        try:
            return make_output(self._walk(name), self._copies)
        except FileNotFoundError:
            return None
        except RefusedError as error:
            return error

    def scan(self, folder: int) -> tuple[str, ...]:
        """The names in a folder. Raises ExceededError if they are too many, before all are read."""
        names = []
        with os.scandir(folder) as entries:
            for entry in entries:
                self._copies.count_entries()
                names.append(entry.name)
        return tuple(names)

    def _walk(self, name: str) -> Iterator[CopiedEntry]:
        """Copy a file, or a folder and all that is in it."""
        entry = self._copy((name,))
        yield entry
        pending = [entry] if entry.copy is None else []
        while pending:
            parts = pending.pop().parts
            with _opened(self._root, parts) as (folder, _):
                names = self.scan(folder)
            for inner in names:
                entry = self._copy((*parts, inner))
                yield entry
                if entry.copy is None:
                    pending.append(entry)

    def _copy(self, parts: tuple[str, ...]) -> CopiedEntry:
        check_name(parts[-1])
        with _opened(self._root, parts) as (descriptor, status):
            if stat.S_ISDIR(status.st_mode):
                return CopiedEntry(parts, status.st_mode)
            path, _ = self._copies.add(status.st_size, iter(partial(os.read, descriptor, _CHUNK_BYTES), b""))
            return CopiedEntry(parts, status.st_mode, status.st_size, path)


@contextmanager
def _opened(root: int, parts: tuple[str, ...]) -> Iterator[tuple[int, os.stat_result]]:
    """A descriptor of the file or folder at `parts` under `root`, with each step checked, and its status."""
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
    before = os.stat(name, dir_fd=folder, follow_symlinks=False)
    check_kind(name, before.st_mode, before.st_nlink)
    descriptor = os.open(name, _OPEN, dir_fd=folder)
    try:
        opened = os.fstat(descriptor)
        check_kind(name, opened.st_mode, opened.st_nlink)  # again: what was opened is what counts
    except RefusedError:
        os.close(descriptor)
        raise
    return descriptor
