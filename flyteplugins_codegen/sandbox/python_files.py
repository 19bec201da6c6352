"""The interpreter, the packages and the small system files that a job sees."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.sandbox.host_files import open_to_all

ENVIRONMENT: Final = Path("/environment")

_USERS = "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\nsolution:x:1000:1000:solution:/tmp:/bin/sh\n"
_GROUPS = "nogroup:x:65534:\nsolution:x:1000:\n"
_PYVENV = "home = {home}\ninclude-system-site-packages = false\n"
_HOSTS = "127.0.0.1 localhost box\n::1 localhost\n"


@dataclass(frozen=True, slots=True)
class EnvironmentPython:
    """The Python of an environment: its program without links, the folders that it needs, and those of its packages.

    `folders` lacks those of the system. `hidden` are the package folders that the interpreter came with: what they
    hold is not part of the environment.
    """

    executable: Path
    folders: tuple[Path, ...]
    hidden: tuple[Path, ...]
    packages: tuple[Path, ...]


def find_interpreter(environment: InstalledEnvironment | None) -> EnvironmentPython:
    """The environment's interpreter, or the base of the running one with its standard library alone.

    Raises SandboxError for a path that does not exist.
    """
    executable = (Path(environment.python) if environment else _running_interpreter()).resolve()
    packages = tuple(Path(folder).resolve() for folder in environment.site_packages) if environment else ()
    for path in (executable, *packages):
        if not path.exists():
            raise SandboxError(f"the sandbox's environment lacks {path}; build the environment again")
    prefix = executable.parent.parent
    folders = () if prefix == Path("/usr") else tuple(_real_folders(prefix / name for name in ("bin", "lib", "lib64")))
    return EnvironmentPython(executable, folders, tuple(_package_folders(prefix)), packages)


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
    """The folders of Java's settings, which Debian keeps in /etc and links to from Java's own folder."""
    return tuple(sorted(str(path) for path in Path("/etc").glob("java-*-openjdk") if path.is_dir()))


def write_shared_folders(folder: Path, interpreter: EnvironmentPython) -> None:
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
    for written in (environment, etc, folder / "empty"):
        open_to_all(written)


def base_variables(environment: Path, packages: Iterable[Path]) -> dict[str, str]:
    """The environment variables that every job has; `environment` is the path at which the job sees that folder."""
    search_path = ":".join(str(path) for path in packages)
    return {
        "HOME": "/tmp",  # noqa: S108 - inside the sandbox
        "LANG": "C.UTF-8",
        "PATH": f"{environment}/bin:/usr/local/bin:/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        **({"PYTHONPATH": search_path} if search_path else {}),
    }
