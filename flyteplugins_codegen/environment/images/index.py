"""The package index of a build: the user's settings of uv, which locked the packages, as a `pip.conf`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from flyteplugins_codegen.environment.uv import index_settings

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
