"""The contract of image builders, and what they share: the files of the package index, running a build program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from flyteplugins_codegen.errors import ImageBuildError
from flyteplugins_codegen.packages.uv import index_settings

RECIPE = "Containerfile"
CREDENTIALS = "config.json"
PIP_SECRET, CERTIFICATES_SECRET = "pip", "ca"
_CERTIFICATES_MOUNT = "/run/secrets/ca"
_CERTIFICATES = ("PIP_CERT", "SSL_CERT_FILE")
_PIP_CONF = "pip.conf"
MAX_LOG_CHARS = 2**18
_TIMEOUT_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOrder:
    """One image to build: `context` is the folder with its `Containerfile` and the files that this copies.

    `secrets` are files that the build steps mount by id, and that stay out of the image. `login` is a folder with a
    Docker `config.json` for the registry, None for the machine's own logins. `platform` is one such as `linux/arm64`,
    None for the builder's own. The last three repeat what the Containerfile says, for builders that use none.
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
    """A builder of images. It returns its output; neither that output nor any command line contains a secret."""

    def has(self, name: str) -> bool:
        """Whether the builder's own storage has an image of this name."""
        ...

    def build(self, order: BuildOrder) -> str:
        """Build the image under its name and return the output.

        Raises:
            PackageError: the package index or Debian has no such package.
            IndexUnavailableError: the index or the disk failed.
            ImageBuildError: anything else failed.
        """
        ...

    def push(self, order: BuildOrder) -> str:
        """Push the built image to the registry in its name and return the output. Raises ImageBuildError."""
        ...


def write_index_files(folder: Path, environ: Mapping[str, str] | None = None) -> dict[str, Path]:
    """Write the files that a build mounts while it installs, and return their paths by the id of the secret.

    They are a `pip.conf` with the index settings that uv locked the packages with, and the trusted certificates if set.
    An index on this machine's disk is left out, because a build cannot reach it.
    """
    environ = os.environ if environ is None else environ
    certificates = next((Path(environ[name]) for name in _CERTIFICATES if environ.get(name)), None)
    trusted = certificates if certificates and certificates.is_file() else None
    path = folder / _PIP_CONF
    path.touch(mode=0o600)
    path.write_text(
        "\n".join(["[global]", *_pip_conf_lines(index_settings(environ), has_certificates=trusted is not None)]) + "\n"
    )
    return {PIP_SECRET: path, **({CERTIFICATES_SECRET: trusted} if trusted else {})}


def _pip_conf_lines(settings: Mapping[str, str], *, has_certificates: bool) -> Iterator[str]:
    main = settings.get("UV_DEFAULT_INDEX") or settings.get("UV_INDEX_URL")
    if main and _is_remote(_address(main)):
        yield f"index-url = {_address(main)}"
    more = f"{settings.get('UV_INDEX', '')} {settings.get('UV_EXTRA_INDEX_URL', '')}".split()
    if extra := [address for address in map(_address, more) if _is_remote(address)]:
        yield f"extra-index-url = {' '.join(extra)}"
    if links := [link for link in settings.get("UV_FIND_LINKS", "").replace(",", " ").split() if _is_remote(link)]:
        yield f"find-links = {' '.join(links)}"
    if has_certificates:
        yield f"cert = {_CERTIFICATES_MOUNT}"


def _address(index: str) -> str:
    """The address of an index, without the name that uv allows before it: `acme=https://...`."""
    name, equals, rest = index.partition("=")
    return rest if equals and "/" not in name else index


def _is_remote(address: str) -> bool:
    return address.startswith(("http://", "https://"))


class ProgramError(ImageBuildError):
    """A build program ended with an error; `log` is its output."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


def run_program(command: Sequence[str], variables: Mapping[str, str] | None = None) -> str:
    """Run a command and return the end of its output on both streams. Raises ProgramError where it fails or hangs."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            env={**os.environ, **(variables or {})},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramError(f"{command[0]} does not answer: {error}", "") from error
    log = done.stdout.decode(errors="replace")[-MAX_LOG_CHARS:]
    if done.returncode != 0:
        raise ProgramError(f"{Path(command[0]).name} ended with exit status {done.returncode}: {log[-1500:]}", log)
    return log


def login_variables(order: BuildOrder) -> dict[str, str]:
    """The environment variables that name the file with the credentials, which stay off the command line."""
    if order.login is None:
        return {}
    return {"DOCKER_CONFIG": str(order.login), "REGISTRY_AUTH_FILE": str(order.login / CREDENTIALS)}


def secret_options(order: BuildOrder) -> list[str]:
    """A `--secret` option for each file, in the form that all of these programs take."""
    return [part for name, path in order.secrets.items() for part in ("--secret", f"id={name},src={path}")]
