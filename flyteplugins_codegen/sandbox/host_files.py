"""Which files of this machine another user can read, and how to show a job those that he cannot.

A job may run as another user than this process. What it is shown must be reachable and readable for every user, or is
copied so that it is.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from flyteplugins_codegen.errors import RequestError, SandboxError


def require_input(name: str, path: Path) -> Path:
    """The absolute path of a job's file or folder. Raises RequestError if there is none."""
    if not (path.is_file() or path.is_dir()):
        raise RequestError(f"{name!r} of a sandboxed job: {path} is neither a file nor a folder")
    return path.absolute()


def require_readable(folder: Path) -> None:
    """Raise SandboxError if another user could not read this folder. Only its first level is looked at."""
    for path in (folder, *folder.iterdir()):
        if not path.name.startswith(".") and not is_readable(path):  # an installer's lock may be its own
            raise SandboxError(
                f"a sandboxed job runs as another user, and {path} is closed to others; chmod -R o+rX {folder}"
            )


def is_reachable(path: Path) -> bool:
    """Whether every user can pass through this folder and those above it."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (path, *path.absolute().parents))


def is_readable(path: Path) -> bool:
    """Whether every user can read this file, or list and pass through this folder, once it is reached."""
    mode = path.lstat().st_mode
    wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    return stat.S_ISLNK(mode) or mode & wanted == wanted


def is_readable_throughout(path: Path) -> bool:
    """Whether every user can read this file, or this folder and all in it, once it is reached."""
    return is_readable(path) and all(
        is_readable(Path(folder, name)) for folder, folders, files in os.walk(path) for name in (*folders, *files)
    )


def open_to_all(folder: Path) -> None:
    """Let every user read a folder of ours and all in it, which the caller's umask may have closed to others."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)


def copy_readable(path: Path, target: Path) -> None:
    """Copy a file or a folder so that every user can read all of it. Symbolic links are kept."""
    if path.is_file():
        _link_or_copy(str(path), str(target))
        return
    shutil.copytree(path, target, symlinks=True, copy_function=_link_or_copy)
    for folder, _, _ in os.walk(target):
        Path(folder).chmod(0o755)


def _link_or_copy(source: str, target: str) -> None:
    """Make a hard link if the file is readable for all and on the same disk, else a copy that is readable for all."""
    if Path(source).stat().st_mode & stat.S_IROTH:
        try:
            os.link(source, target)
        except OSError:
            pass
        else:
            return
    shutil.copyfile(source, target)
    Path(target).chmod(0o444)
