"""Which Debian packages this machine has, read from dpkg's own files; no process is started."""

from __future__ import annotations

from pathlib import Path

from flyteplugins_codegen.models.environment import EnvironmentLock

_DPKG_INFO = Path("/var/lib/dpkg/info")


def missing_system_packages(lock: EnvironmentLock, info: Path = _DPKG_INFO) -> tuple[str, ...]:
    """The lock's system packages that are not installed here; none where the machine has no dpkg to ask.

    A local sandbox cannot install them: this says why a library may be absent.
    """
    if not info.is_dir():
        return ()
    return tuple(name for name in lock.system_packages if not _is_installed(name, info))


def _is_installed(name: str, info: Path) -> bool:
    return (info / f"{name}.list").exists() or any(info.glob(f"{name}:*.list"))
