"""Running a program that builds images: what it prints, its time limit, and what its failure means."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from flyteplugins_codegen.environment.images.contract import CREDENTIALS, BuildOrder
from flyteplugins_codegen.errors import ImageBuildError

MAX_LOG_CHARS = 2**18
_TIMEOUT_S = 3600.0


class ProgramError(ImageBuildError):
    """A program ended with an error; `log` is all that it printed."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


def run_program(command: Sequence[str], surroundings: Mapping[str, str] | None = None) -> str:
    """What the command prints on both streams, the end of it. Raises ProgramError where it fails or hangs."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            env={**os.environ, **(surroundings or {})},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramError(f"{command[0]} does not answer: {error}", "") from error
    log = done.stdout.decode(errors="replace")[-MAX_LOG_CHARS:]
    if done.returncode != 0:
        raise ProgramError(f"{Path(command[0]).name} ended with exit status {done.returncode}: {log[-1500:]}", log)
    return log


def login_variables(order: BuildOrder) -> dict[str, str]:
    """Where programs find the credentials: in a file that the environment names, not on the command line."""
    if order.login is None:
        return {}
    return {"DOCKER_CONFIG": str(order.login), "REGISTRY_AUTH_FILE": str(order.login / CREDENTIALS)}


def secret_options(order: BuildOrder) -> list[str]:
    """`--secret` for each file, in the form that all of these programs take."""
    return [part for name, path in order.secrets.items() for part in ("--secret", f"id={name},src={path}")]
