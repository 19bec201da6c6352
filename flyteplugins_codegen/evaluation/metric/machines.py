"""Where a benchmark's code runs: by the name of its image, and with the packages that it imports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from flyteplugins_codegen.environment.interpreter import find_python, python_version
from flyteplugins_codegen.environment.layers import combine, install
from flyteplugins_codegen.environment.lock import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.environment.packages import requirements_of
from flyteplugins_codegen.errors import IndexUnavailableError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.sandbox.contract import Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox

# `python`, `python:3`, `python:3.12-slim`, from whichever registry.
_PYTHON: Final = re.compile(r"(?:\S+/)?python(?::(?:(?P<version>3\.\d{1,2})(?:\.\d+)?\b)?\S*)?\Z")


@contextmanager
def open_machine(image: str | None, packages: Sequence[str]) -> Iterator[Sandbox]:
    """A sandbox of that image's Python, with pytest and the packages.

    An image of Python alone is taken for its version, and stands on this machine's interpreter where that has it;
    from any other image a container is started, which must hold what it needs. Raises PackageError,
    IndexUnavailableError, SandboxUnavailableError.
    """
    version = _local_version(image)
    if version is None:
        with open_sandbox("container", image=image) as sandbox:
            yield sandbox
    else:
        with open_sandbox(environment=_environment(packages, version)) as sandbox:
            yield sandbox


def _local_version(image: str | None) -> str | None:
    """The version of Python that stands for an image on this machine, None where only a container will do."""
    named = _PYTHON.match(image or "python")
    if named is None:
        return None
    version = python_version(named["version"])
    try:
        find_python(version)
    except IndexUnavailableError:
        return None
    return version


def _environment(packages: Sequence[str], version: str) -> InstalledEnvironment:
    """The runner's packages before the others, so that none of those stands in for one of them."""
    runner = install(resolve(RUNNER_REQUIREMENTS, python=version))
    return combine(runner, install(resolve(requirements_of((), packages), python=version)))
