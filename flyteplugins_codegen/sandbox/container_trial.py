"""Running a first container of an image, and so learning whether and how it works: nothing of it is guessed."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from flyteplugins_codegen.errors import SandboxUnavailableError
from flyteplugins_codegen.sandbox.container_command import (
    LABEL,
    REAPER,
    Place,
    memory_bytes,
    process_count,
    run_command,
)
from flyteplugins_codegen.sandbox.container_engine import Engine, EngineError, ask
from flyteplugins_codegen.sandbox.container_files import Mount
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.sandbox.folders import open_place, temporary_folder
from flyteplugins_codegen.sandbox.interpreter import ENVIRONMENT
from flyteplugins_codegen.sandbox.owner import is_abandoned, owned_prefix

_ENGINES_FAULT = frozenset({None, 125, 126})  # as exit statuses of both engines; 126 may be the runtime's


@dataclass(frozen=True, slots=True)
class Trial:
    """What a container was found to be like: its Python, its kernel's machine, and what of its limits it is held to.

    `suffix` is what extension modules end in: `.cpython-311-x86_64-linux-gnu.so` says version, machine and C library.
    """

    place: Place
    version: str
    suffix: str
    machine: str
    layers: tuple[str, ...]


@cache
def try_image(engine: Engine, image: str) -> Trial:
    """Run our own program in a container of an image, with each runtime until one works. Once in a process.

    Raises SandboxUnavailableError where this engine can run none, or the image has no Python that does.
    """
    _sweep(engine)
    errors = dict[str, str]()
    for variant in engine.variants():
        try:
            return _try(Place(variant, image, "python3"))
        except EngineError as error:  # noqa: PERF203 - few rounds, of a tenth of a second each
            if error.status not in _ENGINES_FAULT:
                raise SandboxUnavailableError(f"the image has no python3 that works ({error})") from error
            errors[variant.runtime or "its own runtime"] = str(error)
    told = "; ".join(f"{runtime}: {error}" for runtime, error in errors.items())
    raise SandboxUnavailableError(f"{engine.name} cannot run a container here ({told})")


def put_reaper(folder: Path) -> None:
    """Put our program into the folder that a container sees as /environment."""
    target = folder / Path(REAPER).name
    shutil.copyfile(Path(__file__).with_name(target.name), target)
    target.chmod(0o644)


def container_name() -> str:
    """A name for one container that says whose it is."""
    return owned_prefix("container") + secrets.token_hex(4)


def _sweep(engine: Engine) -> None:
    """Remove what processes of ours have left that were killed at a bad moment; a started container goes by itself."""
    with suppress(EngineError):
        for name in filter(is_abandoned, engine.never_started(LABEL)):
            engine.remove(name)


def _try(place: Place) -> Trial:
    limits = Limits()
    name = container_name()
    with ExitStack() as stack:
        folder = temporary_folder(stack, open_place())
        folder.chmod(0o755)
        put_reaper(folder)
        try:
            answer = ask(run_command(place, name, limits, [Mount(folder, str(ENVIRONMENT))], "describe"))
        except EngineError:
            place.engine.remove(name)
            raise
    found = _read_answer(answer)
    return Trial(
        place=replace(place, python=found["python"]),
        version=found["version"],
        suffix=found["suffix"],
        machine=found["machine"],
        layers=tuple(_layers(found, limits)),
    )


def _read_answer(answer: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(answer)
    except ValueError as error:
        raise SandboxUnavailableError(f"the image's python3 is none: it answered {answer[:200]!r}") from error
    return found


def _layers(found: Mapping[str, Any], limits: Limits) -> Iterator[str]:
    """What holds in such a container beside what holds in every one, as in `Execution.isolation`."""
    asked = {"memory": memory_bytes(limits), "processes": process_count(limits)}
    yield from (name for name in ("user", "cgroup-namespace") if found[name])
    held = {name for name, most in asked.items() if 0 < (found[name] or 0) <= most}
    yield from (f"cgroup-{name}" if name in held else f"rlimit-{name}" for name in asked)
    if "memory" in held and found["counts_cpu"]:
        yield "cgroup-cpu"
