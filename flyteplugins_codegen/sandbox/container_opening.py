"""Finding an engine and an image that together run the programs of an environment."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from flyteplugins_codegen.errors import SandboxError, SandboxUnavailableError
from flyteplugins_codegen.sandbox.container import Container
from flyteplugins_codegen.sandbox.container_engine import Engine, find_engines
from flyteplugins_codegen.sandbox.container_image import IMAGE_VARIABLE, find_image, image_name
from flyteplugins_codegen.sandbox.container_trial import Trial, try_image
from flyteplugins_codegen.sandbox.inputs import require_readable
from flyteplugins_codegen.sandbox.interpreter import Interpreter

_ASKED = "import sys, importlib.machinery as m; print('%d.%d' % sys.version_info[:2], m.EXTENSION_SUFFIXES[0])"


def open_container(interpreter: Interpreter, *, image: str | None, may_pull: bool, any_python: bool) -> Container:
    """A sandbox of containers in which the packages of that interpreter can be imported.

    `any_python` takes the image's Python, whichever it is. An image that is not here is fetched if `may_pull`. Raises
    SandboxUnavailableError, with the remedy for each engine, where none will do; SandboxError for unreadable packages.
    """
    for folder in interpreter.packages:
        require_readable(folder)
    version, suffix = _python_of(interpreter.executable)
    name = image_name(image, version)
    reasons = []
    for engine in find_engines():
        try:
            trial = _try(engine, name, may_pull=may_pull)
            if not any_python:
                _require_same_python(trial, name, version, suffix)
        except SandboxUnavailableError as error:  # noqa: PERF203 - two engines at most
            reasons.append(str(error))
        else:
            return Container(trial, interpreter.packages)
    raise SandboxUnavailableError(_in_all(reasons))


def _try(engine: Engine, name: str, *, may_pull: bool) -> Trial:
    identity = find_image(engine, name, may_pull=may_pull)
    try:
        return try_image(engine, identity)
    except SandboxUnavailableError as error:
        raise SandboxUnavailableError(f"image {name!r}: {error}") from error


def _require_same_python(trial: Trial, name: str, version: str, suffix: str) -> None:
    if trial.suffix != suffix:
        raise SandboxUnavailableError(
            f"image {name!r} has Python {trial.version} ({trial.suffix}), and the environment's packages are for "
            f"{version} ({suffix}); name an image with that one in {IMAGE_VARIABLE}, such as python:{version}-slim"
        )


def _in_all(reasons: Iterable[str]) -> str:
    return (
        "; ".join(reasons) or "neither podman nor docker is installed; install one of them, such as apt install podman"
    )


@cache
def _python_of(executable: Path) -> tuple[str, str]:
    """The version of an interpreter, and what its extension modules end in."""
    done = subprocess.run([executable, "-I", "-S", "-c", _ASKED], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SandboxError(f"the environment's interpreter {executable} does not run: {done.stderr.strip()}")
    version, suffix = done.stdout.split()
    return version, suffix
