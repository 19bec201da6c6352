"""Requirements to a lock: exact distributions with hashes, resolved once by uv, then remembered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from flyteplugins_codegen.errors import EnvironmentBuildError, PackageError
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.packages.names import check_name, check_system_name
from flyteplugins_codegen.packages.uv import (
    index_settings,
    platform_tag,
    python_version,
    run_uv,
    running_python,
    unavailable,
)
from flyteplugins_codegen.store import ContentStore, digest, remembered

# Whose fault a failed resolution is, read from what uv prints; pure text.

MAX_REASON_LENGTH = 800

# Box-drawing characters, the arrow head and the cross of the older frame, and all white space.
_FRAME = re.compile(r"[\u2500-\u257f\u25b6\u00d7\s]+")
_NAME = r"([A-Za-z0-9][A-Za-z0-9._-]*)"
_UNKNOWN = re.compile(rf"{_NAME}(?:\[\S+\])? was not found in the package registry")
_NO_RELEASE = re.compile(
    rf"^Because (?:there (?:is no version|are no versions) of|only) {_NAME}\S*(?: is available)? and you require "
)
_NO_WHEEL = re.compile(
    rf"^Because (?:all versions of )?{_NAME}\S* ha(?:s|ve) no (?:usable wheels|wheels with a matching)"
)
_OUR_FAULT = ("network was disabled", "could not be queried", "valid authentication")


def explain_failure(stderr: str, requirements: Sequence[str]) -> EnvironmentBuildError:
    """The error for a resolution that failed: PackageError by fault of a package, else IndexUnavailableError."""
    text = _FRAME.sub(" ", stderr)
    if "Because " not in text or any(phrase in text for phrase in _OUR_FAULT):
        return unavailable("resolving the packages", stderr)
    reason = "Because " + text.partition("Because ")[2].partition(" hint:")[0].strip()
    if unknown := _UNKNOWN.search(reason):
        return _package_error(unknown[1], requirements, "no such distribution on the index; correct the name")
    if blamed := _only_to_blame(_NO_RELEASE, reason, requirements):
        return _package_error(blamed, requirements, "no release on the index matches; correct the name or the version")
    if blamed := _only_to_blame(_NO_WHEEL, reason, requirements):
        return _package_error(blamed, requirements, "only wheels are installed, and it has none that fits; replace it")
    return _conflict(reason, requirements)


def _only_to_blame(phrase: re.Pattern[str], reason: str, requirements: Sequence[str]) -> str:
    """The distribution that the reason opens with, where it is the whole reason; "" where others play a part."""
    found = phrase.match(reason)
    is_whole_reason = " And because " not in reason or len(requirements) == 1
    return found[1] if found and is_whole_reason and _as_asked(found[1], requirements) else ""


def _package_error(name: str, requirements: Sequence[str], reason: str) -> PackageError:
    asked = _as_asked(name, requirements)
    shown = asked or f"{name} (needed by {', '.join(requirements)})"
    return PackageError(f"package {shown}: {reason}", _name_of(asked) if asked else name)


def _conflict(reason: str, requirements: Sequence[str]) -> PackageError:
    return PackageError(
        f"{', '.join(requirements)} cannot be installed{' together' * (len(requirements) > 1)}: {_shortened(reason)} "
        "Loosen or remove a version, or replace a package.",
        _name_of(requirements[0]) if len(requirements) == 1 else "",
    )


def _shortened(reason: str) -> str:
    """Beginning and end of a long reason: the packages to blame stand there."""
    half = MAX_REASON_LENGTH // 2
    return reason if len(reason) <= MAX_REASON_LENGTH else f"{reason[:half]} … {reason[-half:]}"


def _as_asked(name: str, requirements: Sequence[str]) -> str:
    """The requirement as it was written; "" for a distribution that nobody asked for by name."""
    wanted = canonicalize_name(name)
    return next((text for text in requirements if canonicalize_name(_name_of(text)) == wanted), "")


def _name_of(requirement: str) -> str:
    return Requirement(requirement).name


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
