"""What made an image build fail, read from what apt and pip print in it.

The phrases are those of apt 2.6 and pip 23 to 26, in English: images are built without a locale.
"""

from __future__ import annotations

import re

from packaging.requirements import InvalidRequirement, Requirement

from flyteplugins_codegen.errors import EnvironmentBuildError, ImageBuildError, IndexUnavailableError, PackageError

_MAX_LOG_CHARS = 1500
_MAX_LINES = 8

# Engines put a prefix before each line of a step, such as `#7 1.234 ` of buildkit.
_START = r"^(?:#\d+ (?:\d+\.\d+ )?)?"
_NO_DISK = ("No space left on device", "Disk quota exceeded", "enough free space in")
_NO_NETWORK = (
    "Temporary failure resolving",
    "Temporary failure in name resolution",
    "Could not resolve",
    "Could not connect to",
    "Network is unreachable",
    "Failed to establish a new connection",
    "Max retries exceeded with url",
    "Read timed out",
    "SSLError",
    "ProxyError",
    "E: Failed to fetch",
    "The repository '",
)
_SYSTEM = (
    re.compile(_START + r"E: Unable to locate package (\S+)", re.MULTILINE),
    re.compile(_START + r"E: Package '([^']+)' has no installation candidate", re.MULTILINE),
    re.compile(_START + r"E: Couldn't find any package by (?:glob|regex) '([^']+)'", re.MULTILINE),
)
_UNMET = re.compile(_START + r" (\S+) : (?:Pre)?Depends: ", re.MULTILINE)
_NO_DISTRIBUTION = re.compile(_START + r"ERROR: No matching distribution found for ([^\n(]+)", re.MULTILINE)
_NO_VERSION = re.compile(
    _START + r"ERROR: Could not find a version that satisfies the requirement ([^\n(]+)", re.MULTILINE
)
_WRONG_HASH = re.compile(
    r"DO NOT MATCH THE HASHES[^\n]*\n(?:[^\n]*\n)?(?:#\d+ \d+\.\d+ )?\s+([A-Za-z0-9._-]+[^\s]*) from "
)
_ERROR_LINE = re.compile(_START + r"(?:E: |ERROR: |Err:|WARNING: Retrying| \S+ : (?:Pre)?Depends:)")


def explain_build(log: str, otherwise: str) -> EnvironmentBuildError:
    """The error for a build that failed because of a package, of index, network or disk, or else `otherwise`."""
    if any(phrase in log for phrase in _NO_DISK):
        return IndexUnavailableError(f"building the image failed: the disk is full\n{_error_lines(log)}")
    # First, because with an index that cannot be reached the tools report every package as unknown.
    if any(phrase in log for phrase in _NO_NETWORK):
        return IndexUnavailableError(
            f"building the image failed: a step could not reach its package index\n{_error_lines(log)}\n"
            "Check that containers have a network while they are built, and the mirrors of the base image"
        )
    return _by_package(log) or ImageBuildError(otherwise)


def _by_package(log: str) -> EnvironmentBuildError | None:
    if system := _first(log, *_SYSTEM):
        return _system_error(system, "Debian has no such package in this release; correct the name", log)
    if unmet := _first(log, _UNMET):
        return _system_error(unmet, "what it depends on cannot be installed beside the others; replace it", log)
    if changed := _first(log, _WRONG_HASH):
        reason = "the index serves another file than the one that was locked"
        return IndexUnavailableError(f"package {changed.strip()}: {reason}\n{_error_lines(log)}")
    if unknown := _first(log, _NO_DISTRIBUTION, _NO_VERSION):
        reason = "the index has no wheel of it for the image's Python and platform; replace it or its version"
        return PackageError(f"package {unknown.strip()}: {reason}\n{_error_lines(log)}", _distribution(unknown))
    return None


def _system_error(package: str, reason: str, log: str) -> PackageError:
    return PackageError(f"system package {package}: {reason}\n{_error_lines(log)}", package)


def _first(log: str, *patterns: re.Pattern[str]) -> str:
    return next((match[1] for match in (pattern.search(log) for pattern in patterns) if match), "")


def _distribution(requirement: str) -> str:
    try:
        return Requirement(requirement.strip()).name
    except InvalidRequirement:
        return requirement.strip()


def _error_lines(log: str) -> str:
    """The last lines of the log that report an error."""
    lines = [line for line in log.splitlines() if _ERROR_LINE.match(line)]
    return "\n".join(lines[-_MAX_LINES:])[-_MAX_LOG_CHARS:]
