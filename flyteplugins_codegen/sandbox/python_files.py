"""Which files make up the interpreter and the packages that a job may use."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from flyteplugins_codegen.errors import SandboxError, SandboxUnavailableError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.sandbox.temporary import open_place, open_to_all, owned_prefix

ENVIRONMENT: Final = Path("/environment")

_USERS = "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\nsolution:x:1000:1000:solution:/tmp:/bin/sh\n"
_GROUPS = "nogroup:x:65534:\nsolution:x:1000:\n"
_PYVENV = "home = {home}\ninclude-system-site-packages = false\n"
_HOSTS = "127.0.0.1 localhost box\n::1 localhost\n"


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter by its real file, the folders that it needs beside the system's, and the packages it may import.

    `hidden` are the package folders that the interpreter came with: what they hold is no part of the environment.
    """

    executable: Path
    folders: tuple[Path, ...]
    hidden: tuple[Path, ...]
    packages: tuple[Path, ...]


def find_interpreter(environment: InstalledEnvironment | None) -> Interpreter:
    """The environment's interpreter, or the running one's base with its standard library alone.

    Raises SandboxError for a path that is not there.
    """
    executable = (Path(environment.python) if environment else _running_interpreter()).resolve()
    packages = tuple(Path(folder).resolve() for folder in environment.site_packages) if environment else ()
    for path in (executable, *packages):
        if not path.exists():
            raise SandboxError(f"the sandbox's environment lacks {path}; build the environment again")
    prefix = executable.parent.parent
    folders = () if prefix == Path("/usr") else tuple(_real_folders(prefix / name for name in ("bin", "lib", "lib64")))
    return Interpreter(executable, folders, tuple(_package_folders(prefix)), packages)


def _running_interpreter() -> Path:
    base = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    return base if base.exists() else Path(sys.executable)


def _real_folders(candidates: Iterator[Path]) -> Iterator[Path]:
    return (path for path in candidates if path.is_dir() and not path.is_symlink())


def _package_folders(prefix: Path) -> Iterator[Path]:
    for root in {prefix, Path("/usr")}:
        for kind in ("site-packages", "dist-packages"):
            yield from _real_folders(root.glob(f"lib*/python3*/{kind}"))


@cache
def java_settings() -> tuple[str, ...]:
    """The folders of settings that Debian keeps outside of Java's own, which links to them."""
    return tuple(sorted(str(path) for path in Path("/etc").glob("java-*-openjdk") if path.is_dir()))


def furnish(folder: Path, interpreter: Interpreter) -> None:
    """Write the small folders that every job of a sandbox shares: `environment`, `etc` and `empty`.

    `environment` is a virtual environment in miniature, which keeps the packages beside the base interpreter out of
    sight: `bin/python`, `pyvenv.cfg`, and a mount point for each folder of packages.
    """
    environment, etc = folder / "environment", folder / "etc"
    settings = [etc / Path(path).name for path in java_settings()]
    for path in (environment / "bin", etc / "alternatives", *settings, folder / "empty"):
        path.mkdir(parents=True)
    for name in ("python", "python3"):
        (environment / "bin" / name).symlink_to(interpreter.executable)
    (environment / "pyvenv.cfg").write_text(_PYVENV.format(home=interpreter.executable.parent))
    for index, _ in enumerate(interpreter.packages):
        (environment / "packages" / str(index)).mkdir(parents=True)
    for name, text in {"passwd": _USERS, "group": _GROUPS, "hosts": _HOSTS}.items():
        (etc / name).write_text(text)
    if Path("/etc/ld.so.cache").exists():
        shutil.copyfile("/etc/ld.so.cache", etc / "ld.so.cache")
    for made in (environment, etc, folder / "empty"):
        open_to_all(made)


def variables(environment: Path, packages: Iterable[Path]) -> dict[str, str]:
    """The environment variables that every job has; `environment` is where the job sees the folder of that name."""
    search = ":".join(str(path) for path in packages)
    return {
        "HOME": "/tmp",  # noqa: S108 - inside the sandbox
        "LANG": "C.UTF-8",
        "PATH": f"{environment}/bin:/usr/local/bin:/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        **({"PYTHONPATH": search} if search else {}),
    }


# A mount namespace in which an unprivileged user reaches what lies below root's own folders.

UNPRIVILEGED_UID: Final = 65532  # no user of any distribution; within the range that every container maps

# Nothing below /sys is shown to a job, and bubblewrap reads the list of mounts once for each that it makes.
_HOLD = """
umount -R -l /sys 2>/dev/null
while [ $# -gt 1 ]; do mount --rbind "$1" "$2" || exit 1; shift 2; done
echo ready
read -r _
"""


class Antechamber:
    """Holds `sources` reachable until it is closed. Raises SandboxUnavailableError where root may not mount."""

    def __init__(self, sources: Iterable[Path]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix=owned_prefix("reach"), dir=open_place()))
        self._folder.chmod(0o711)
        self._places = {source: self._folder / str(index) for index, source in enumerate(dict.fromkeys(sources))}
        for place in self._places.values():
            place.mkdir()
        try:
            self._holder = self._hold()
        except BaseException:
            self._remove_folder()
            raise

    def place(self, source: Path) -> Path:
        """Where that source is reachable for a command that starts with `entry()`."""
        return self._places[source]

    def entry(self) -> list[str]:
        """The beginning of a command that is to run in here, without root."""
        user = str(UNPRIVILEGED_UID)
        return ["nsenter", f"--mount=/proc/{self._holder.pid}/ns/mnt", "--setuid", user, "--setgid", user, "--"]

    def close(self) -> None:
        """End the namespace; commands that run in it keep it until they end."""
        self._holder.communicate()
        self._remove_folder()

    def _hold(self) -> subprocess.Popen[bytes]:
        pairs = [str(path) for pair in self._places.items() for path in pair]
        # "slave": what the host mounts later appears here too, and nothing that is mounted here appears on the host.
        command = ["unshare", "--mount", "--propagation", "slave", "sh", "-c", _HOLD, "sh", *pairs]
        try:
            holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except FileNotFoundError as error:
            raise SandboxUnavailableError("root needs `unshare` to set up a sandbox: apt install util-linux") from error
        if holder.stdout is None or holder.stdout.readline() != b"ready\n":
            reason = holder.communicate()[1].decode(errors="replace").strip()
            raise SandboxUnavailableError(f"root cannot make a mount namespace here ({reason}); run as another user")
        return holder

    def _remove_folder(self) -> None:
        # One by one, never a tree: were something still mounted here, a tree would reach into it.
        for folder in (*self._places.values(), self._folder):
            folder.rmdir()
