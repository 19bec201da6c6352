"""What a job sees: bubblewrap's options for a private root, and for the host's own root with three folders put in.

Options are applied in order, so what is made later lies on top.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.sandbox.contract import APP, INPUTS, OUTPUTS, Limits
from flyteplugins_codegen.sandbox.python_files import ENVIRONMENT, Interpreter, java_settings
from flyteplugins_codegen.sandbox.temporary import is_reachable, require_input, temporary_folder

_JOB_UID = "1000"
_SYSTEM_FOLDERS = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/share/zoneinfo")
_USUALLY_LINKS = ("/bin", "/lib", "/lib32", "/lib64")

PRIVATE_FOLDERS = ("/tmp", "/dev/shm")  # noqa: S108 - inside the sandbox
"""The sized folders in memory that a job has beside its outputs."""

Place = Callable[[Path], Path]
"""Where the user that bubblewrap runs as reaches a path of this machine."""


def closed_namespaces() -> list[str]:
    """Every namespace of its own, none to be nested, no capability, another session, ended with its parent."""
    return [*open_namespaces(), "--disable-userns"]


def open_namespaces() -> list[str]:
    """The same with user namespaces left open, for a process that makes further ones for each job."""
    user = ["--unshare-user", "--uid", _JOB_UID, "--gid", _JOB_UID]
    return ["--unshare-all", *user, "--hostname", "box", "--cap-drop", "ALL", *_lifetime()]


def shared_namespaces() -> list[str]:
    """The host's namespaces, but for mounts and processes: without the latter, daemons would outlive their job."""
    user = [] if os.geteuid() == 0 else ["--unshare-user", "--uid", str(os.getuid()), "--gid", str(os.getgid())]
    return [*user, "--unshare-pid", *_lifetime()]


def _lifetime() -> list[str]:
    # As process 1 our reaper ends everything when it exits, and bubblewrap's own reaper is not needed.
    return ["--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"]


def private_root(folder: Path, interpreter: Interpreter, place: Place) -> list[str]:
    """A root of nothing but the system's programs and libraries, the interpreter, its packages and a small /etc.

    Nothing in its /proc is covered: the kernel would let no process in it mount another one.
    """
    options = list(_system())
    for path in interpreter.folders:
        options += ["--ro-bind", str(place(path)), str(path)]
    for path in interpreter.hidden:
        options += ["--ro-bind", str(folder / "empty"), str(path)]
    options += ["--ro-bind", str(folder / "etc"), "/etc"]
    for name in ("/etc/alternatives", *java_settings()):
        options += ["--ro-bind-try", name, name]
    return [*options, *_environment(folder, interpreter, place), "--proc", "/proc", "--dev", "/dev"]


def _system() -> Iterator[str]:
    for name in _USUALLY_LINKS:
        path = Path(name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), name)
        elif path.is_dir():
            yield from ("--ro-bind", name, name)
    for name in (*_SYSTEM_FOLDERS, *_compilers_folders()):
        yield from ("--ro-bind-try", name, name)


@cache
def _compilers_folders() -> tuple[str, ...]:
    """What Debian's compilers need beside the system's folders: C's headers, and Go's own library."""
    found = [Path("/usr/include"), *Path("/usr/share").glob("go-*")]
    return tuple(str(path) for path in sorted(found) if path.is_dir())


def _environment(folder: Path, interpreter: Interpreter, place: Place) -> Iterator[str]:
    yield from ("--ro-bind", str(folder / "environment"), str(ENVIRONMENT))
    for path, seen in zip(interpreter.packages, package_places(interpreter), strict=True):
        yield from ("--ro-bind", str(place(path)), str(seen))


def package_places(interpreter: Interpreter) -> list[Path]:
    """Where a job sees the folders of its packages."""
    return [ENVIRONMENT / "packages" / str(index) for index, _ in enumerate(interpreter.packages)]


def hosts_root(folder: Path, interpreter: Interpreter, place: Place) -> list[str]:
    """Everything of the host, writable where it is, except that /app, /var/inputs and /var/outputs are the job's own.

    The root itself and /var are folders of names that lead to the host's, because only there can names be put in
    without touching the host.
    """
    options = [*_names_of("/", {"app", "environment", "proc", "var"}), *_names_of("/var", {"inputs", "outputs"})]
    return [*options, *_environment(folder, interpreter, place), "--proc", "/proc"]


def _names_of(folder: str, left_out: set[str]) -> Iterator[str]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name in left_out:
            continue
        if entry.is_symlink():
            yield from ("--symlink", str(Path(entry.path).readlink()), entry.path)
        else:
            yield from ("--dev-bind-try", entry.path, entry.path)


def private_places(limits: Limits) -> list[str]:
    """What comes before anything else is put in: a sized /tmp, and the places of the program and the inputs."""
    return [*sized("/tmp", limits), "--dir", APP, "--dir", INPUTS]  # noqa: S108 - inside the sandbox


def sealed(limits: Limits) -> list[str]:
    """The last word of a private root: nothing else can be written to."""
    return [*_covered(), *sized("/dev/shm", limits), "--remount-ro", "/dev", "--remount-ro", "/"]  # noqa: S108 - the same


def _covered() -> Iterator[str]:
    """In /proc, what tells of the kernel, and the settings of the job's namespaces, which its user could write to."""
    for path in ("/proc/kallsyms", "/proc/keys"):
        if Path(path).exists():
            yield from ("--ro-bind", os.devnull, path)
    yield from ("--ro-bind", "/proc/sys", "/proc/sys")


def empty_places() -> list[str]:
    """Where a job's own folders are to be mounted later."""
    return [option for place in ("/tmp", APP, INPUTS, OUTPUTS) for option in ("--dir", place)]  # noqa: S108 - the same


def sized(path: str, limits: Limits) -> list[str]:
    """An empty folder in memory that holds as much as all outputs may."""
    return ["--perms", "0755", "--size", str(limits.output_mib << 20), "--tmpfs", path]


def setenv(variables: Mapping[str, str]) -> list[str]:
    """The job's environment variables; it has no others."""
    return [option for name, value in variables.items() for option in ("--setenv", name, value)]


# Handing a job its files: bytes as descriptors, paths as read-only binds, or as copies where it may not read them.


class Files:
    """The files of one job as bubblewrap's options; `descriptors` are to be inherited by it."""

    def __init__(self, stack: ExitStack, place: Path | None) -> None:
        """`place` is where copies go when the job runs as another user than we do, else None."""
        self.options: list[str] = []
        self.descriptors: list[int] = []
        self._stack = stack
        self._place = place

    def add_all(self, folder: str, files: Mapping[str, Path | bytes]) -> None:
        """Show every file under `folder`. Raises RequestError for a path that is not there."""
        for name, content in files.items():
            if isinstance(content, bytes):
                descriptor = self.add_bytes(content)
                self.options += ["--perms", "0444", "--file", str(descriptor), f"{folder}/{name}"]
            else:
                self.options += ["--ro-bind", str(self._readable(name, content)), f"{folder}/{name}"]

    def add_bytes(self, content: bytes) -> int:
        """A descriptor to read these bytes from, inherited by the job."""
        descriptor = memory_file(content)
        self._stack.callback(os.close, descriptor)
        self.descriptors.append(descriptor)
        return descriptor

    def _readable(self, name: str, path: Path) -> Path:
        path = require_input(name, path)
        if self._place is None or is_open(path):
            return path
        target = temporary_folder(self._stack, self._place) / path.name
        copy_openly(path, target)
        return target


def memory_file(content: bytes) -> int:
    """A descriptor of a file in memory that nobody can change, at its start."""
    descriptor = os.memfd_create("codegen", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


def is_open(path: Path) -> bool:
    """Whether every user can read this file, or this folder and all in it."""
    if not is_reachable(path.parent) or not is_readable(path):
        return False
    if path.is_file():
        return True
    return all(
        is_readable(Path(folder, name)) for folder, folders, files in os.walk(path) for name in (*folders, *files)
    )


def is_readable(path: Path) -> bool:
    """Whether every user can read this file, or list and pass through this folder."""
    mode = path.lstat().st_mode
    wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    return stat.S_ISLNK(mode) or mode & wanted == wanted


def require_readable(folder: Path) -> None:
    """Raise SandboxError where another user could not read this folder. Only its first level is looked at."""
    for path in (folder, *folder.iterdir()):
        if not path.name.startswith(".") and not is_readable(path):  # an installer's lock may be its own
            raise SandboxError(
                f"a sandboxed job runs as another user, and {path} is closed to others; chmod -R o+rX {folder}"
            )


def copy_openly(path: Path, target: Path) -> None:
    """Copy a file or a folder so that every user can read all of it. Symbolic links stay what they are."""
    if path.is_file():
        _link_or_copy(str(path), str(target))
        return
    shutil.copytree(path, target, symlinks=True, copy_function=_link_or_copy)
    for folder, _, _ in os.walk(target):
        Path(folder).chmod(0o755)


def _link_or_copy(source: str, target: str) -> None:
    """A hard link where the file is readable for all and on the same disk, else a copy that is."""
    if Path(source).stat().st_mode & stat.S_IROTH:
        try:
            os.link(source, target)
        except OSError:
            pass
        else:
            return
    shutil.copyfile(source, target)
    Path(target).chmod(0o444)
