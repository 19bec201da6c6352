"""Choosing the sandbox that this machine offers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flyteplugins_codegen.errors import SandboxUnavailableError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.contract import Sandbox


@contextmanager
def open_sandbox(kind: SandboxKind = "auto", *, environment: InstalledEnvironment | None = None) -> Iterator[Sandbox]:
    """A sandbox for programs of this environment, closed at the end of the `with` block.

    `environment=None` is the standard library of the interpreter that runs now. Raises SandboxUnavailableError, with the
    remedy, where this machine cannot offer that kind.
    """
    raise SandboxUnavailableError(f"sandbox {kind!r} is not available for {environment}")
    yield
