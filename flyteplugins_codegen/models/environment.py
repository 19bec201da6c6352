"""What a solution needs installed, resolved to exact distributions."""

from __future__ import annotations

from flyteplugins_codegen.models.base import Value


class EnvironmentLock(Value):
    """A resolved environment: `requirements` is pip's format, every line pinned and with hashes.

    `digest` names the content (pins, Python version, platform): the same set always has the same one.
    """

    packages: tuple[str, ...] = ()
    system_packages: tuple[str, ...] = ()
    requirements: str = ""
    python: str
    platform: str
    digest: str


class InstalledEnvironment(Value):
    """An environment on this machine: an interpreter, and the folders of packages that it may import from, read-only.

    `python` and `site_packages` are absolute paths; an empty `site_packages` is the standard library alone.
    """

    python: str
    site_packages: tuple[str, ...] = ()
    digest: str
