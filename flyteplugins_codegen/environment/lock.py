"""Requirements to a lock: exact distributions with hashes, resolved once by uv, then remembered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flyteplugins_codegen.environment.diagnosis import explain_failure
from flyteplugins_codegen.environment.interpreter import platform_tag, python_version, running_python
from flyteplugins_codegen.environment.packages import check_name, check_system_name
from flyteplugins_codegen.environment.uv import index_settings, run_uv
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.store import ContentStore, digest, remembered

RUNNER_REQUIREMENTS = ("pytest==9.2.0",)
"""What a test run needs beside the solution; pinned, so that recorded repair requests keep matching."""

# Wheels only: nothing of a package runs while it is resolved or installed.
_COMPILE = (
    "pip",
    "compile",
    "-",
    "--generate-hashes",
    "--only-binary=:all:",
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--quiet",
)


def resolve(
    packages: Iterable[str],
    *,
    system_packages: Iterable[str] = (),
    python: str | None = None,
    store: ContentStore | None = None,
) -> EnvironmentLock:
    """Lock requirements for a Python version (`3.11`; by default the running interpreter's) on this platform.

    The second resolution of a set starts no process: the lock is kept in `store`, keyed by requirements, version,
    platform and index settings. The lock holds neither index nor credentials, and hashes of every file of a
    release, so it serves other platforms where the same releases have wheels.

    Raises:
        PackageError: a package is refused, unknown, has no wheel, or conflicts.
        IndexUnavailableError: the index, the disk or uv failed.
        SettingsError: `python` is no version.
    """
    requirements = tuple(sorted(frozenset(map(check_name, packages))))
    system = tuple(sorted(frozenset(map(check_system_name, system_packages))))
    version = python_version(python)
    pins = _pins(requirements, version, store or ContentStore()) if requirements else ""
    return _lock(requirements, system, pins, version)


def _pins(requirements: Sequence[str], version: str, store: ContentStore) -> str:
    key = digest(list(requirements), version, platform_tag(), index_settings())
    found = remembered(
        store, "locks", key, EnvironmentLock, lambda: _lock(requirements, (), _compile(requirements, version), version)
    )
    return found.requirements


def _compile(requirements: Sequence[str], version: str) -> str:
    done = run_uv(
        [*_COMPILE, f"--python={running_python()}", f"--python-version={version}"], "\n".join(requirements) + "\n"
    )
    if done.returncode != 0:
        raise explain_failure(done.stderr, requirements)
    return done.stdout


def _lock(requirements: Sequence[str], system: tuple[str, ...], pins: str, version: str) -> EnvironmentLock:
    platform = platform_tag()
    return EnvironmentLock(
        packages=tuple(requirements),
        system_packages=system,
        requirements=pins,
        python=version,
        platform=platform,
        digest=digest(pins, list(system), version, platform),
    )


def read_lock(requirements: str, *, python: str | None = None) -> EnvironmentLock:
    """The lock that a solution folder's `requirements.txt` was written from; the names asked for are not in the file.

    Raises SettingsError when `python` is no version.
    """
    return _lock((), (), requirements, python_version(python))
