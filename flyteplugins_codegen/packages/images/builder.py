"""Whose fault a failed build is, read from what apt and pip print inside it; pure text.

The phrases are those of apt 2.6 and pip 23 to 26, in English: images are built without a locale.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from packaging.requirements import InvalidRequirement, Requirement

from flyteplugins_codegen.errors import EnvironmentBuildError, ImageBuildError, IndexUnavailableError, PackageError
from flyteplugins_codegen.packages.uv import index_settings

_MAX_LOG_CHARS = 1500
_MAX_LINES = 8

# Engines put their own words before a line of a step: buildkit `#7 1.234 `, podman `Error: `.
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
_TELLING = re.compile(_START + r"(?:E: |ERROR: |Err:|WARNING: Retrying| \S+ : (?:Pre)?Depends:)")


def explain_build(log: str, otherwise: str) -> EnvironmentBuildError:
    """The error for a build that failed: by fault of a package, of index, network or disk, or of anything else."""
    if any(phrase in log for phrase in _NO_DISK):
        return IndexUnavailableError(f"building the image failed: the disk is full\n{_told(log)}")
    # First: what cannot be reached has no packages at all, and tools then blame every one of them.
    if any(phrase in log for phrase in _NO_NETWORK):
        return IndexUnavailableError(
            f"building the image failed: a step could not reach its package index\n{_told(log)}\n"
            "Check that containers have a network while they are built, and the mirrors of the base image"
        )
    return _by_package(log) or ImageBuildError(otherwise)


def _by_package(log: str) -> EnvironmentBuildError | None:
    if system := _first(log, *_SYSTEM):
        return _system_error(system, "Debian has no such package in this release; correct the name", log)
    if unmet := _first(log, _UNMET):
        return _system_error(unmet, "what it depends on cannot be installed beside the others; replace it", log)
    if changed := _first(log, _WRONG_HASH):
        return IndexUnavailableError(
            f"package {changed.strip()}: the index serves another file than the one that was locked\n{_told(log)}"
        )
    if unknown := _first(log, _NO_DISTRIBUTION, _NO_VERSION):
        reason = "the index has no wheel of it for the image's Python and platform; replace it or its version"
        return PackageError(f"package {unknown.strip()}: {reason}\n{_told(log)}", _distribution(unknown))
    return None


def _system_error(package: str, reason: str, log: str) -> PackageError:
    return PackageError(f"system package {package}: {reason}\n{_told(log)}", package)


def _first(log: str, *patterns: re.Pattern[str]) -> str:
    return next((found[1] for found in (pattern.search(log) for pattern in patterns) if found), "")


def _distribution(requirement: str) -> str:
    try:
        return Requirement(requirement.strip()).name
    except InvalidRequirement:
        return requirement.strip()


def _told(log: str) -> str:
    """The lines of the log that say what went wrong."""
    lines = [line for line in log.splitlines() if _TELLING.match(line)]
    return "\n".join(lines[-_MAX_LINES:])[-_MAX_LOG_CHARS:]


# What builds an image, whatever does it.

RECIPE = "Containerfile"
CREDENTIALS = "config.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOrder:
    """One image to build: `context` is the folder with its `Containerfile` and all that this copies.

    `secrets` are files that the steps of the recipe mount by id, and that stay out of the image. `login` is a folder
    with a Docker `config.json` for the registry, None where the machine's own logins serve. `platform` is as in
    `linux/arm64`, None for the builder's own. The last three say again what the recipe says, for builders that have no
    use for a recipe.
    """

    context: Path
    name: str
    platform: str | None = None
    secrets: Mapping[str, Path] = field(default_factory=dict)
    login: Path | None = None
    base_image: str | None = None
    python_version: str | None = None
    system_packages: tuple[str, ...] = ()


class ImageBuilder(Protocol):
    """A builder. What it prints is returned; nothing that it prints, and no command line, holds a secret."""

    def has(self, name: str) -> bool:
        """Whether the builder's own storage has an image of that name."""
        ...

    def build(self, order: BuildOrder) -> str:
        """Build the image under its name, and return what was printed.

        Raises:
            PackageError: the package index or Debian has no such package.
            IndexUnavailableError: the index or the disk failed.
            ImageBuildError: anything else failed.
        """
        ...

    def push(self, order: BuildOrder) -> str:
        """Send the built image to the registry in its name, and return what was printed. Raises ImageBuildError."""
        ...


# The package index of a build: the user's settings of uv, which locked the packages, as a `pip.conf`.

PIP_SECRET, CERTIFICATES_SECRET = "pip", "ca"
_CERTIFICATES_MOUNT = "/run/secrets/ca"
_CERTIFICATES = ("PIP_CERT", "SSL_CERT_FILE")
_PIP_CONF = "pip.conf"


def write_index_files(folder: Path, environ: Mapping[str, str] | None = None) -> dict[str, Path]:
    """The files that a build mounts while it installs, by id: a `pip.conf`, and the certificates to trust if set.

    An index on this machine's disk cannot be reached from a build, and is left out.
    """
    given = os.environ if environ is None else environ
    certificates = next((Path(given[name]) for name in _CERTIFICATES if given.get(name)), None)
    trusted = certificates if certificates and certificates.is_file() else None
    path = folder / _PIP_CONF
    path.touch(mode=0o600)
    path.write_text(
        "\n".join(["[global]", *_lines(index_settings(given), has_certificates=trusted is not None)]) + "\n"
    )
    return {PIP_SECRET: path, **({CERTIFICATES_SECRET: trusted} if trusted else {})}


def _lines(settings: Mapping[str, str], *, has_certificates: bool) -> Iterator[str]:
    main = settings.get("UV_DEFAULT_INDEX") or settings.get("UV_INDEX_URL")
    if main and _is_remote(_address(main)):
        yield f"index-url = {_address(main)}"
    more = f"{settings.get('UV_INDEX', '')} {settings.get('UV_EXTRA_INDEX_URL', '')}".split()
    if extra := [address for address in map(_address, more) if _is_remote(address)]:
        yield f"extra-index-url = {' '.join(extra)}"
    if found := [link for link in settings.get("UV_FIND_LINKS", "").replace(",", " ").split() if _is_remote(link)]:
        yield f"find-links = {' '.join(found)}"
    if has_certificates:
        yield f"cert = {_CERTIFICATES_MOUNT}"


def _address(index: str) -> str:
    """The address alone: an index of uv may have a name before it, `acme=https://...`."""
    name, equals, rest = index.partition("=")
    return rest if equals and "/" not in name else index


def _is_remote(address: str) -> bool:
    return address.startswith(("http://", "https://"))


# Running a program that builds images: what it prints, its time limit, and what its failure means.

MAX_LOG_CHARS = 2**18
_TIMEOUT_S = 3600.0


class ProgramError(ImageBuildError):
    """A program ended with an error; `log` is all that it printed."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


def run_program(command: Sequence[str], surroundings: Mapping[str, str] | None = None) -> str:
    """What the command prints on both streams, the end of it. Raises ProgramError where it fails or hangs."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            env={**os.environ, **(surroundings or {})},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramError(f"{command[0]} does not answer: {error}", "") from error
    log = done.stdout.decode(errors="replace")[-MAX_LOG_CHARS:]
    if done.returncode != 0:
        raise ProgramError(f"{Path(command[0]).name} ended with exit status {done.returncode}: {log[-1500:]}", log)
    return log


def login_variables(order: BuildOrder) -> dict[str, str]:
    """Where programs find the credentials: in a file that the environment names, not on the command line."""
    if order.login is None:
        return {}
    return {"DOCKER_CONFIG": str(order.login), "REGISTRY_AUTH_FILE": str(order.login / CREDENTIALS)}


def secret_options(order: BuildOrder) -> list[str]:
    """`--secret` for each file, in the form that all of these programs take."""
    return [part for name, path in order.secrets.items() for part in ("--secret", f"id={name},src={path}")]
