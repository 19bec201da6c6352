"""What may be taken of what a job left under /var/outputs: names, kinds of files, how deep, how many, how much.

The facts come from a folder in reach, or from inside a container; the rules, and what is said of what breaks one, are
the same.
"""

from __future__ import annotations

import shutil
import stat
import tempfile
import weakref
from pathlib import Path
from typing import Final

from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.sandbox.names import name_flaw

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
