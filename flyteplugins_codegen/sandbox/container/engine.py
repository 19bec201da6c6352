"""The programs that run containers, podman or docker, and the image that containers are made of."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from flyteplugins_codegen.errors import RequestError, SandboxUnavailableError

IMAGE_VARIABLE: Final = "FLYTE_CODEGEN_IMAGE"
"""The environment variable that names the image of containers."""

ENGINES: Final = ("podman", "docker")
_RUNTIMES = ("crun", "runc")
_LOG_LINE = 'time="'  # of podman
_MAX_CHARS = 2000
_ANSWER_S = 60.0
_PULL_S = 1800.0


class EngineError(SandboxUnavailableError):
    """An engine's command failed. `status` is its exit status, None if it did not start or did not end in time."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Engine:
    """A way to run containers on this machine: a program, and for podman the runtime if its own does not work."""

    name: str
    program: str
    runtime: str | None = None

    @property
    def command(self) -> list[str]:
        """The beginning of all its commands."""
        return [self.program, *(["--runtime", self.runtime] if self.runtime else [])]

    def variants(self) -> Iterator[Engine]:
        """This engine, then podman with each other runtime: its own choice does not work with all control groups."""
        yield self
        if self.name == "podman":
            yield from (replace(self, runtime=runtime) for runtime in _RUNTIMES if shutil.which(runtime))

    def ask(self, *arguments: str) -> str:
        """The output of a command. Raises EngineError with the engine's message if it fails."""
        return ask([*self.command, *arguments])

    def pull(self, image: str) -> None:
        """Pull an image from its registry. Raises EngineError."""
        ask([*self.command, "pull", "--quiet", image], timeout_s=_PULL_S)

    def never_started(self, label: str) -> list[str]:
        """The names of the containers with that label that were created and not started. Raises EngineError."""
        filters = ("--filter", f"label={label}", "--filter", "status=created")
        return self.ask("ps", "--all", *filters, "--format", "{{.Names}}").split()

    def remove(self, container: str) -> None:
        """End and remove a container; does nothing if it does not exist."""
        with suppress(EngineError):
            self.ask("rm", "--force", "--volumes", container)


def find_engines() -> Iterator[Engine]:
    """The engines whose programs are installed, the preferred first."""
    programs = ((name, shutil.which(name)) for name in ENGINES)
    return (Engine(name, program) for name, program in programs if program)


def ask(command: Sequence[str], *, timeout_s: float = _ANSWER_S) -> str:
    """The output of an engine's command. Raises EngineError with its message if it fails."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False, text=True
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"{command[0]} does not answer: {error}") from error
    if done.returncode != 0:
        raise EngineError(errors_in(done.stderr) or f"exit status {done.returncode}", done.returncode)
    return done.stdout.strip()


def errors_in(stderr: str) -> str:
    """The error in an engine's standard error, without the log lines that may precede it."""
    lines = stderr.strip().splitlines()
    errors = [line for line in lines if not line.startswith(_LOG_LINE)]
    return "\n".join(errors or lines)[-_MAX_CHARS:]


def image_name(image: str | None, version: str) -> str:
    """The image to use: the requested one, else the configured one, else the official one of that Python version.

    Raises RequestError for a name that an engine would read as an option.
    """
    name = image or os.environ.get(IMAGE_VARIABLE) or f"python:{version}-slim"
    if name.startswith("-"):
        raise RequestError(f"no container image is called {name!r}; write one such as 'python:3.11-slim'")
    return name


def find_image(engine: Engine, name: str, *, may_pull: bool) -> str:
    """The identity of an image, which stays the same if its name moves on to another image.

    Raises SandboxUnavailableError if the engine has no such image, or if the image declares volumes.
    """
    try:
        description = _inspect(engine, name)
    except EngineError as error:
        if not may_pull:
            raise SandboxUnavailableError(
                f"{engine.name} has no image {name!r} ({error}); {_remedy(engine, name)}"
            ) from error
        description = _pull(engine, name)
    identity, _, volumes = description.partition(" ")
    if engine.name == "docker" and volumes not in {"null", "{}"}:
        raise SandboxUnavailableError(
            f"image {name!r} declares volumes ({volumes}), which a job could fill the disk with; use one without"
        )
    return identity


def _inspect(engine: Engine, name: str) -> str:
    return engine.ask("image", "inspect", "--format", "{{.Id}} {{json .Config.Volumes}}", name)


def _pull(engine: Engine, name: str) -> str:
    try:
        engine.pull(name)
        return _inspect(engine, name)
    except EngineError as error:
        raise SandboxUnavailableError(
            f"{engine.name} cannot fetch image {name!r} ({error}); {_remedy(engine, name)}"
        ) from error


def _remedy(engine: Engine, name: str) -> str:
    return f"run `{engine.name} pull {name}`, or name an image that is here in {IMAGE_VARIABLE}"
