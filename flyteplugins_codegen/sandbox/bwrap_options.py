"""Bubblewrap's options: namespaces, a private root or the host's own root with three folders added, a job's files.

Bubblewrap applies options in order, so a later mount covers an earlier one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TypeAlias

from flyteplugins_codegen.sandbox.contract import APP, INPUTS, OUTPUTS, Limits
from flyteplugins_codegen.sandbox.host_files import (
    copy_readable,
    is_reachable,
    is_readable_throughout,
    require_input,
)
from flyteplugins_codegen.sandbox.process import memory_file
from flyteplugins_codegen.sandbox.python_files import ENVIRONMENT, EnvironmentPython, java_settings
from flyteplugins_codegen.sandbox.temporary import temporary_folder

_JOB_UID = "1000"
_SYSTEM_FOLDERS = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/share/zoneinfo")
_USUALLY_LINKS = ("/bin", "/lib", "/lib32", "/lib64")

PRIVATE_FOLDERS = ("/tmp", "/dev/shm")  # noqa: S108 - inside the sandbox
"""The sized folders in memory that a job has beside its outputs."""

ReachablePath: TypeAlias = Callable[[Path], Path]
"""Gives the path at which the user that bubblewrap runs as reaches a path of this machine."""


def closed_namespaces() -> list[str]:
    """New namespaces of every kind, no further user namespaces, no capability, a new session; ended with the parent."""
    return [*open_namespaces(), "--disable-userns"]


def open_namespaces() -> list[str]:
    """The same, except that user namespaces may be nested: for a process that makes further ones for each job."""
    user = ["--unshare-user", "--uid", _JOB_UID, "--gid", _JOB_UID]
    return ["--unshare-all", *user, "--hostname", "box", "--cap-drop", "ALL", *_lifetime()]


def shared_namespaces() -> list[str]:
    """The host's namespaces except for mounts and processes; without the latter, daemons would outlive their job."""
    user = [] if os.geteuid() == 0 else ["--unshare-user", "--uid", str(os.getuid()), "--gid", str(os.getgid())]
    return [*user, "--unshare-pid", *_lifetime()]


def _lifetime() -> list[str]:
    # When our init exits as process 1, the kernel ends everything else; bubblewrap's own init is not needed.
    return ["--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"]


def private_root(folder: Path, interpreter: EnvironmentPython, reachable: ReachablePath) -> list[str]:
    """A root with only the system's programs and libraries, the interpreter, its packages and a small /etc.

    Nothing in its /proc is covered: otherwise the kernel would let no process inside mount another /proc.
    """
    options = list(_system())
    for path in interpreter.folders:
        options += ["--ro-bind", str(reachable(path)), str(path)]
    for path in interpreter.hidden:
        options += ["--ro-bind", str(folder / "empty"), str(path)]
    options += ["--ro-bind", str(folder / "etc"), "/etc"]
    for name in ("/etc/alternatives", *java_settings()):
        options += ["--ro-bind-try", name, name]
    return [*options, *_environment(folder, interpreter, reachable), "--proc", "/proc", "--dev", "/dev"]


def _system() -> Iterator[str]:
    for name in _USUALLY_LINKS:
        path = Path(name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), name)
        elif path.is_dir():
            yield from ("--ro-bind", name, name)
    for name in (*_SYSTEM_FOLDERS, *_compiler_folders()):
        yield from ("--ro-bind-try", name, name)


@cache
def _compiler_folders() -> tuple[str, ...]:
    """What Debian's compilers need beside the system's folders: the headers of C and the library of Go."""
    candidates = [Path("/usr/include"), *Path("/usr/share").glob("go-*")]
    return tuple(str(path) for path in sorted(candidates) if path.is_dir())


def _environment(folder: Path, interpreter: EnvironmentPython, reachable: ReachablePath) -> Iterator[str]:
    yield from ("--ro-bind", str(folder / "environment"), str(ENVIRONMENT))
    for folder_of_packages, path in zip(interpreter.packages, package_paths(interpreter), strict=True):
        yield from ("--ro-bind", str(reachable(folder_of_packages)), str(path))


def package_paths(interpreter: EnvironmentPython) -> list[Path]:
    """The paths at which a job sees the folders of its packages."""
    return [ENVIRONMENT / "packages" / str(index) for index, _ in enumerate(interpreter.packages)]


def host_root(folder: Path, interpreter: EnvironmentPython, reachable: ReachablePath) -> list[str]:
    """Everything of the host with its own permissions, but with the job's own /app, /var/inputs and /var/outputs.

    The root itself and /var are new folders with a bind for each of the host's names, since names can be added to
    these without touching the host.
    """
    options = [*_bind_all("/", {"app", "environment", "proc", "var"}), *_bind_all("/var", {"inputs", "outputs"})]
    return [*options, *_environment(folder, interpreter, reachable), "--proc", "/proc"]


def _bind_all(folder: str, except_for: set[str]) -> Iterator[str]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name in except_for:
            continue
        if entry.is_symlink():
            yield from ("--symlink", str(Path(entry.path).readlink()), entry.path)
        else:
            yield from ("--dev-bind-try", entry.path, entry.path)


def job_mount_points(limits: Limits) -> list[str]:
    """What has to be made before a job's files: a sized /tmp, and empty folders for the program and the inputs."""
    return [*sized("/tmp", limits), "--dir", APP, "--dir", INPUTS]  # noqa: S108 - inside the sandbox


def seal(limits: Limits) -> list[str]:
    """The last options of a private root: nothing else in it can be written to."""
    return [*_covered(), *sized("/dev/shm", limits), "--remount-ro", "/dev", "--remount-ro", "/"]  # noqa: S108 - inside the sandbox


def _covered() -> Iterator[str]:
    """Cover what describes the kernel in /proc, and the settings of the namespaces, which the job could change."""
    for path in ("/proc/kallsyms", "/proc/keys"):
        if Path(path).exists():
            yield from ("--ro-bind", os.devnull, path)
    yield from ("--ro-bind", "/proc/sys", "/proc/sys")


def empty_mount_points() -> list[str]:
    """Empty folders on which a job's own are mounted later."""
    return [option for path in ("/tmp", APP, INPUTS, OUTPUTS) for option in ("--dir", path)]  # noqa: S108 - inside the sandbox


def sized(path: str, limits: Limits) -> list[str]:
    """An empty folder in memory, as large as all outputs may be."""
    return ["--perms", "0755", "--size", str(limits.output_mib << 20), "--tmpfs", path]


def setenv(variables: Mapping[str, str]) -> list[str]:
    """The job's environment variables; it has no others."""
    return [option for name, value in variables.items() for option in ("--setenv", name, value)]


class JobFileOptions:
    """The files of one job as bubblewrap's options: bytes as descriptors, paths as read-only binds or as copies.

    Bubblewrap has to inherit the `descriptors`.
    """

    def __init__(self, stack: ExitStack, copies: Path | None) -> None:
        """`copies` is the folder for copies if the job runs as another user than this process, else None."""
        self.options: list[str] = []
        self.descriptors: list[int] = []
        self._stack = stack
        self._copies = copies

    def add_all(self, folder: str, files: Mapping[str, Path | bytes]) -> None:
        """Show every file under `folder`. Raises RequestError for a path that does not exist."""
        for name, content in files.items():
            if isinstance(content, bytes):
                descriptor = self.add_bytes(content)
                self.options += ["--perms", "0444", "--file", str(descriptor), f"{folder}/{name}"]
            else:
                self.options += ["--ro-bind", str(self._readable(name, content)), f"{folder}/{name}"]

    def add_bytes(self, content: bytes) -> int:
        """A descriptor to read these bytes from, which bubblewrap inherits."""
        descriptor = memory_file(content)
        self._stack.callback(os.close, descriptor)
        self.descriptors.append(descriptor)
        return descriptor

    def _readable(self, name: str, path: Path) -> Path:
        path = require_input(name, path)
        if self._copies is None or _is_open(path):
            return path
        target = temporary_folder(self._stack, self._copies) / path.name
        copy_readable(path, target)
        return target


def _is_open(path: Path) -> bool:
    """Whether every user can reach and read this file, or this folder and all in it."""
    return is_reachable(path.parent) and is_readable_throughout(path)
