"""The image that containers are made of: which one, whether it is here, and what a container of it is like."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.errors import RequestError, SandboxUnavailableError
from flyteplugins_codegen.sandbox.container_command import REAPER, Place, memory_bytes, process_count, run_command
from flyteplugins_codegen.sandbox.container_engine import Engine, EngineError, ask
from flyteplugins_codegen.sandbox.container_files import Mount
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.sandbox.folders import open_place, temporary_folder
from flyteplugins_codegen.sandbox.interpreter import ENVIRONMENT
from flyteplugins_codegen.sandbox.owner import owned_prefix

IMAGE_VARIABLE: Final = "FLYTE_CODEGEN_IMAGE"
"""Names the image of the sandbox's containers."""

_COMMAND_MISSING = 127  # of both engines, as of shells


@dataclass(frozen=True, slots=True)
class Trial:
    """What a container was found to be like: its Python, and what of its limits the kernel holds it to.

    `suffix` is what extension modules end in: `.cpython-311-x86_64-linux-gnu.so` says version, machine and C library.
    """

    place: Place
    version: str
    suffix: str
    layers: tuple[str, ...]


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
        identity, _, volumes = _inspect(engine, name).partition(" ")
    except EngineError as error:
        if not may_pull:
            raise SandboxUnavailableError(
                f"{engine.name} has no image {name!r} ({error}); {_fetch(engine, name)}"
            ) from error
        _pull(engine, name)
        identity, _, volumes = _inspect(engine, name).partition(" ")
    if engine.name == "docker" and volumes not in {"null", "{}"}:
        raise SandboxUnavailableError(
            f"image {name!r} declares volumes ({volumes}), which a job could fill the disk with; use one without"
        )
    return identity


@cache
def try_image(engine: Engine, identity: str) -> Trial:
    """Run our own program in a container of that image, and so learn whether and how it works. Once in a process.

    Raises SandboxUnavailableError where this engine cannot run it.
    """
    errors = []
    for variant in engine.variants():
        try:
            return _try(Place(variant, identity, "python3"))
        except EngineError as error:  # noqa: PERF203 - few rounds, of a tenth of a second each
            if error.status == _COMMAND_MISSING:
                raise SandboxUnavailableError(f"the image has no python3: {error}") from error
            errors.append(f"{variant.runtime or 'its own runtime'}: {error}")
    raise SandboxUnavailableError(f"{engine.name} cannot run a container here ({'; '.join(dict.fromkeys(errors))})")


def _inspect(engine: Engine, name: str) -> str:
    return engine.ask("image", "inspect", "--format", "{{.Id}} {{json .Config.Volumes}}", name)


def _pull(engine: Engine, name: str) -> None:
    try:
        engine.pull(name)
    except EngineError as error:
        raise SandboxUnavailableError(
            f"{engine.name} cannot fetch image {name!r} ({error}); {_fetch(engine, name)}"
        ) from error


def _fetch(engine: Engine, name: str) -> str:
    return f"run `{engine.name} pull {name}`, or name an image that is here in {IMAGE_VARIABLE}"


def _try(place: Place) -> Trial:
    limits = Limits()
    name = container_name()
    with ExitStack() as stack:
        folder = temporary_folder(stack, open_place())
        put_reaper(folder)
        folder.chmod(0o755)
        try:
            found = json.loads(ask(run_command(place, name, limits, [Mount(folder, str(ENVIRONMENT))])))
        except EngineError:
            place.engine.remove(name)
            raise
    return Trial(
        replace(place, python=found["python"]), found["version"], found["suffix"], tuple(_layers(found, limits))
    )


def put_reaper(folder: Path) -> None:
    """Put our program into the folder that a container sees as /environment."""
    target = folder / Path(REAPER).name
    shutil.copyfile(Path(__file__).with_name(target.name), target)
    target.chmod(0o644)


def container_name() -> str:
    """A name for one container that says whose it is."""
    return owned_prefix("container") + secrets.token_hex(4)


def _layers(found: Mapping[str, Any], limits: Limits) -> Iterator[str]:
    """What holds in such a container, as in `Execution.isolation`; beside what every container has."""
    held = {name: 0 < (found[name] or 0) <= asked for name, asked in _asked(limits).items()}
    yield from (name for name in ("user", "cgroup-namespace") if found[name])
    yield "cgroup-memory" if held["memory"] else "rlimit-memory"
    yield "cgroup-processes" if held["processes"] else "rlimit-processes"
    if held["memory"] and found["counts_cpu"]:
        yield "cgroup-cpu"


def _asked(limits: Limits) -> dict[str, int]:
    return {"memory": memory_bytes(limits), "processes": process_count(limits)}
