"""The programs that run containers: podman, else docker; what is asked of them beside running jobs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from flyteplugins_codegen.errors import SandboxUnavailableError

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
