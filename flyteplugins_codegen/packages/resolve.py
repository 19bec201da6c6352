"""Requirements to a lock: exact distributions with hashes, resolved once by uv, then cached.

A failed resolution becomes an error that says whether a package or the machine is at fault, read from what uv prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from flyteplugins_codegen.errors import EnvironmentBuildError, PackageError
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.packages.names import check_name
from flyteplugins_codegen.packages.system import check_system_name
from flyteplugins_codegen.packages.uv import (
    index_settings,
    platform_tag,
    python_version,
    run_uv,
    running_python,
    unavailable,
)
from flyteplugins_codegen.store import ContentStore, digest, remembered

RUNNER_REQUIREMENTS = ("pytest==9.2.0",)
"""What a test run needs in addition to the solution; pinned, so that recorded repair requests keep matching."""

# Wheels only: no code of a package runs while it is resolved or installed.
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


def resolve(
    packages: Iterable[str],
    *,
    system_packages: Iterable[str] = (),
    python: str | None = None,
    store: ContentStore | None = None,
) -> EnvironmentLock:
    """Lock requirements for a Python version (`3.11`; by default the running interpreter's) on this platform.

    The lock is cached in `store` by requirements, version, platform and index settings, so resolving the same set
    again starts no process. It contains neither index nor credentials. It has the hashes of every file of a release,
    so it also serves other platforms for which the same releases have wheels.

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
    lock = remembered(
        store, "locks", key, EnvironmentLock, lambda: _lock(requirements, (), _compile(requirements, version), version)
    )
    return lock.requirements


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
    """The lock of a solution folder, from the text of its `requirements.txt`.

    Its `packages` are empty: the file does not say which names were asked for. Raises SettingsError when `python` is no
    version.
    """
    return _lock((), (), requirements, python_version(python))


def explain_failure(stderr: str, requirements: Sequence[str]) -> EnvironmentBuildError:
    """The error for a failed resolution: PackageError where a package is at fault, else IndexUnavailableError."""
    text = _FRAME.sub(" ", stderr)
    if "Because " not in text or any(phrase in text for phrase in _OUR_FAULT):
        return unavailable("resolving the packages", stderr)
    reason = "Because " + text.partition("Because ")[2].partition(" hint:")[0].strip()
    if unknown := _UNKNOWN.search(reason):
        return _package_error(unknown[1], requirements, "no such distribution on the index; correct the name")
    if culprit := _sole_cause(_NO_RELEASE, reason, requirements):
        return _package_error(culprit, requirements, "no release on the index matches; correct the name or the version")
    if culprit := _sole_cause(_NO_WHEEL, reason, requirements):
        return _package_error(culprit, requirements, "only wheels are installed, and it has none that fits; replace it")
    return _conflict(reason, requirements)


def _sole_cause(phrase: re.Pattern[str], reason: str, requirements: Sequence[str]) -> str:
    """The distribution that `phrase` finds, if it was requested and is the whole reason; "" if others are involved."""
    match = phrase.match(reason)
    is_whole_reason = " And because " not in reason or len(requirements) == 1
    return match[1] if match and is_whole_reason and _as_requested(match[1], requirements) else ""


def _package_error(name: str, requirements: Sequence[str], reason: str) -> PackageError:
    requested = _as_requested(name, requirements)
    subject = requested or f"{name} (needed by {', '.join(requirements)})"
    return PackageError(f"package {subject}: {reason}", _name_of(requested) if requested else name)


def _conflict(reason: str, requirements: Sequence[str]) -> PackageError:
    return PackageError(
        f"{', '.join(requirements)} cannot be installed{' together' * (len(requirements) > 1)}: {_shortened(reason)} "
        "Loosen or remove a version, or replace a package.",
        _name_of(requirements[0]) if len(requirements) == 1 else "",
    )


def _shortened(reason: str) -> str:
    """Beginning and end of a long reason, where uv names the packages at fault."""
    half = MAX_REASON_LENGTH // 2
    return reason if len(reason) <= MAX_REASON_LENGTH else f"{reason[:half]} … {reason[-half:]}"


def _as_requested(name: str, requirements: Sequence[str]) -> str:
    """The requirement as it was written; "" for a distribution that is not among the requirements."""
    wanted = canonicalize_name(name)
    return next((text for text in requirements if canonicalize_name(_name_of(text)) == wanted), "")


def _name_of(requirement: str) -> str:
    return Requirement(requirement).name
