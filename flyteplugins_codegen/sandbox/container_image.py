"""The image that containers are made of: which one, and whether it is here."""

from __future__ import annotations

import os
from typing import Final

from flyteplugins_codegen.errors import RequestError, SandboxUnavailableError
from flyteplugins_codegen.sandbox.container_engine import Engine, EngineError

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
