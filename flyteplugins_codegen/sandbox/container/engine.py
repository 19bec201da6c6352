"""The programs that run containers: podman, else docker; what is asked of them beside running jobs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from flyteplugins_codegen.errors import RequestError, SandboxUnavailableError

ENGINES: Final = ("podman", "docker")
_RUNTIMES = ("crun", "runc")
_LOG_LINE = 'time="'  # of podman
_MOST_CHARS = 2000
_ANSWER_S = 60.0
_PULL_S = 1800.0


class EngineError(SandboxUnavailableError):
    """An engine did not do what it was asked. `status` is its exit status, None where it did not even end."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Engine:
    """One way to run containers on this machine: a program, and for podman the runtime where its own does not work."""

    name: str
    program: str
    runtime: str | None = None

    @property
    def command(self) -> list[str]:
        """The beginning of each of its commands."""
        return [self.program, *(["--runtime", self.runtime] if self.runtime else [])]

    def variants(self) -> Iterator[Engine]:
        """This engine, and with each other runtime: podman's own choice does not work with all control groups."""
        yield self
        if self.name == "podman":
            yield from (replace(self, runtime=runtime) for runtime in _RUNTIMES if shutil.which(runtime))

    def ask(self, *arguments: str) -> str:
        """What a command prints. Raises EngineError with what the engine says where it fails."""
        return ask([*self.command, *arguments])

    def pull(self, image: str) -> None:
        """Fetch an image from its registry. Raises EngineError."""
        ask([*self.command, "pull", "--quiet", image], timeout_s=_PULL_S)

    def never_started(self, label: str) -> list[str]:
        """The names of the containers with that label that were made and not started. Raises EngineError."""
        filters = ("--filter", f"label={label}", "--filter", "status=created")
        return self.ask("ps", "--all", *filters, "--format", "{{.Names}}").split()

    def remove(self, container: str) -> None:
        """End and remove a container; one that is gone already is fine."""
        with suppress(EngineError):
            self.ask("rm", "--force", "--volumes", container)


def find_engines() -> Iterator[Engine]:
    """The engines whose programs are installed, the preferred first."""
    found = ((name, shutil.which(name)) for name in ENGINES)
    return (Engine(name, program) for name, program in found if program)


def ask(command: Sequence[str], *, timeout_s: float = _ANSWER_S) -> str:
    """What an engine's command prints. Raises EngineError with what it says where it fails."""
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
    """What an engine says went wrong, without the log lines that may precede it."""
    lines = stderr.strip().splitlines()
    errors = [line for line in lines if not line.startswith(_LOG_LINE)]
    return "\n".join(errors or lines)[-_MOST_CHARS:]


# The image that containers are made of: which one, and whether it is here.

IMAGE_VARIABLE: Final = "FLYTE_CODEGEN_IMAGE"
"""Names the image of the sandbox's containers."""


def image_name(image: str | None, version: str) -> str:
    """The image to use: the one asked for, else the one that is configured, else Python's own of that version.

    Raises RequestError for what an engine would take for an option.
    """
    name = image or os.environ.get(IMAGE_VARIABLE) or f"python:{version}-slim"
    if name.startswith("-"):
        raise RequestError(f"no container image is called {name!r}; write one such as 'python:3.11-slim'")
    return name


def find_image(engine: Engine, name: str, *, may_pull: bool) -> str:
    """The identity of an image, which no later change of its name touches.

    Raises SandboxUnavailableError where the engine has no such image, or one that brings folders to write to.
    """
    try:
        found = _inspect(engine, name)
    except EngineError as error:
        if not may_pull:
            raise SandboxUnavailableError(
                f"{engine.name} has no image {name!r} ({error}); {_remedy(engine, name)}"
            ) from error
        found = _fetch(engine, name)
    identity, _, volumes = found.partition(" ")
    if engine.name == "docker" and volumes not in {"null", "{}"}:
        raise SandboxUnavailableError(
            f"image {name!r} declares volumes ({volumes}), which a job could fill the disk with; use one without"
        )
    return identity


def _inspect(engine: Engine, name: str) -> str:
    return engine.ask("image", "inspect", "--format", "{{.Id}} {{json .Config.Volumes}}", name)


def _fetch(engine: Engine, name: str) -> str:
    try:
        engine.pull(name)
        return _inspect(engine, name)
    except EngineError as error:
        raise SandboxUnavailableError(
            f"{engine.name} cannot fetch image {name!r} ({error}); {_remedy(engine, name)}"
        ) from error


def _remedy(engine: Engine, name: str) -> str:
    return f"run `{engine.name} pull {name}`, or name an image that is here in {IMAGE_VARIABLE}"
