"""Debian packages: valid names, which ones this machine has, and which one a program's failure asks for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from flyteplugins_codegen.errors import PackageError
from flyteplugins_codegen.models.environment import EnvironmentLock

_DEBIAN_NAME: Final = re.compile(r"[a-z0-9][a-z0-9+.-]{1,99}\Z")
_DPKG_INFO: Final = Path("/var/lib/dpkg/info")
_LIBRARY: Final = re.compile(
    r"(lib[\w.+-]+): cannot open shared object file|cannot load library ['\"](lib[\w.+-]+)['\"]"
)
_NOT_FOUND: Final = re.compile(r"(?:\bsh: (?:\d+: )?|^)([\w.+-]+): (?:command )?not found", re.MULTILINE)
_NO_SUCH_FILE: Final = re.compile(r"No such file or directory: ['\"](?:/usr/(?:local/)?bin/)?([\w.+-]+)['\"]")
# A data file of that name may be missing too: only messages about starting a program count.
_STARTING: Final = re.compile(r"subprocess|Popen|check_output|check_call|_execute_child")


class _SystemNeeds(NamedTuple):
    """Debian packages by what a message names: a shared library, a program, or a phrase that it contains."""

    libraries: dict[str, str]
    programs: dict[str, str]
    phrases: dict[str, str]


def check_system_name(package: str) -> str:
    """Return the name of a Debian package. Raises PackageError for anything else, such as options or shell syntax."""
    name = package.strip()
    if not _DEBIAN_NAME.match(name):
        raise PackageError(
            f"system package {name[:60]!r} is refused: it is no name of a Debian package; write one such as 'libgomp1'",
            package,
        )
    return name


def missing_system_packages(lock: EnvironmentLock, info: Path = _DPKG_INFO) -> tuple[str, ...]:
    """The lock's system packages that are not installed on this machine; empty on a machine without dpkg.

    A local sandbox cannot install them, so this explains why a library may be missing. Reads dpkg's own files and
    starts no process.
    """
    if not info.is_dir():
        return ()
    return tuple(name for name in lock.system_packages if not _is_installed(name, info))


def _is_installed(name: str, info: Path) -> bool:
    return (info / f"{name}.list").exists() or any(info.glob(f"{name}:*.list"))


def system_packages_for(message: str) -> tuple[str, ...]:
    """The Debian packages that provide the library or program a failure's message names, sorted.

    Empty where the table `system_needs.json` has no entry for it.
    """
    table = _system_needs()
    libraries = (linked or loaded for linked, loaded in _LIBRARY.findall(message))
    packages = [table.libraries.get(name) for name in libraries]
    packages += [table.programs.get(name) for name in _programs(message)]
    packages += [package for phrase, package in table.phrases.items() if phrase in message]
    return tuple(sorted({package for package in packages if package}))


@cache
def _system_needs() -> _SystemNeeds:
    return _SystemNeeds(**json.loads(Path(__file__).with_name("system_needs.json").read_text(encoding="utf-8")))


def _programs(message: str) -> Iterator[str]:
    yield from _NOT_FOUND.findall(message)
    if _STARTING.search(message):
        yield from _NO_SUCH_FILE.findall(message)
