"""Folders that appear complete or not at all, made of hard links instead of copies, and read-only once they appear."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_ASIDE_PREFIX = ".making-"
_EXECUTABLE, _READABLE = 0o555, 0o444
_ABANDONED_AFTER_S = 24 * 3600.0


@contextmanager
def staged_folder(final: Path) -> Iterator[Path]:
    """An empty folder that is renamed to `final` when the block succeeds, and discarded otherwise.

    Where another process was quicker, its folder stays and ours is discarded: the name is a digest of the content, so
    both are the same. A process that is killed leaves a hidden folder, which a later call removes.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(final.parent)
    aside = Path(tempfile.mkdtemp(prefix=_ASIDE_PREFIX, dir=final.parent))
    try:
        yield aside
        make_read_only(aside)
        _publish(aside, final)
    finally:
        discard(aside)


def link_tree(source: Path, target: Path) -> None:
    """Put every file of `source` into `target` as a hard link, or as a copy where links are not possible.

    A file that already exists stays: distributions of one namespace share such files.
    """
    for folder, _, files in os.walk(source):
        inside = target / Path(folder).relative_to(source)
        inside.mkdir(parents=True, exist_ok=True)
        for name in files:
            _link(Path(folder, name), inside / name)


def tree_size(folder: Path) -> int:
    """The bytes of all files in a folder and the folders below it; symbolic links do not count."""
    statuses = (Path(parent, name).lstat() for parent, _, names in os.walk(folder) for name in names)
    return sum(status.st_size for status in statuses if stat.S_ISREG(status.st_mode))


def make_read_only(folder: Path) -> None:
    """Make everything readable for all and writable for nobody; files stay executable. Symbolic links are removed."""
    for parent, folders, files in os.walk(folder, topdown=False):
        for name in (*folders, *files):
            _make_entry_read_only(Path(parent, name))
    folder.chmod(_EXECUTABLE)


def discard(folder: Path) -> None:
    """Remove a folder, read-only or not. No error if it does not exist or another process removes it meanwhile."""
    for parent, _, _ in os.walk(folder):
        with suppress(FileNotFoundError):
            Path(parent).chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _make_entry_read_only(path: Path) -> None:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        # Installers make none, and one could lead a reader out of the tree.
        path.unlink()
        return
    wanted = _EXECUTABLE if mode & stat.S_IXUSR else _READABLE
    if stat.S_IMODE(mode) != wanted:
        path.chmod(wanted)


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except FileExistsError:
        return
    except OSError:
        shutil.copy2(source, target)


def _publish(aside: Path, final: Path) -> None:
    try:
        aside.rename(final)
    except OSError:
        if not final.is_dir():
            raise


def _remove_abandoned(parent: Path) -> None:
    oldest = time.time() - _ABANDONED_AFTER_S
    for folder in parent.glob(_ASIDE_PREFIX + "*"):
        try:
            is_abandoned = folder.stat().st_mtime < oldest
        except FileNotFoundError:
            continue
        if is_abandoned:
            discard(folder)
