"""The environment of a solution: its resolved distributions, and where they are installed."""

from __future__ import annotations

from flyteplugins_codegen.models.base import Value


class EnvironmentLock(Value):
    """A resolved environment. `requirements` is in pip's format, every line pinned and with hashes.

    `digest` identifies the content (pins, Python version, platform): equal environments have equal digests.
    """

    packages: tuple[str, ...] = ()
    system_packages: tuple[str, ...] = ()
    requirements: str = ""
    python: str
    platform: str
    digest: str


class InstalledEnvironment(Value):
    """An environment on this machine: an interpreter, and the read-only folders of packages that it may import from.

    `python` and `site_packages` are absolute paths. Without `site_packages` there is only the standard library.
    """

    python: str
    site_packages: tuple[str, ...] = ()
    digest: str
