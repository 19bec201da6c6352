"""Running a first container of an image, to learn whether and how it works here instead of guessing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from flyteplugins_codegen.errors import SandboxUnavailableError
from flyteplugins_codegen.sandbox.container.engine import Engine, EngineError, ask
from flyteplugins_codegen.sandbox.container.options import (
    LABEL,
    ContainerImage,
    Mount,
    container_name,
    copy_init,
    memory_bytes,
    process_count,
    run_command,
)
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.sandbox.python_files import ENVIRONMENT
from flyteplugins_codegen.sandbox.temporary import is_abandoned, temporary_folder, temporary_root

_ENGINE_FAILURES = frozenset({None, 125, 126})  # exit statuses of both engines; 126 may come from the runtime


@dataclass(frozen=True, slots=True)
class ProbedImage:
    """What a container of an image reported: its Python, the machine of its kernel, and the layers that hold in it.

    `suffix` is the suffix of extension modules: `.cpython-311-x86_64-linux-gnu.so` names version, machine, C library.
    """

    image: ContainerImage
    version: str
    suffix: str
    machine: str
    layers: tuple[str, ...]


@cache
def probe_image(engine: Engine, image: str) -> ProbedImage:
    """Run our init program in a container of an image, with each runtime until one works. Once in each process.

    Raises SandboxUnavailableError if this engine can run no container, or the image has no Python that works.
    """
    _sweep(engine)
    errors = dict[str, str]()
    for variant in engine.variants():
        try:
            return _probe(ContainerImage(variant, image, "python3"))
        except EngineError as error:  # noqa: PERF203 - few rounds, of a tenth of a second each
            if error.status not in _ENGINE_FAILURES:
                raise SandboxUnavailableError(f"the image has no python3 that works ({error})") from error
            errors[variant.runtime or "its own runtime"] = str(error)
    reasons = "; ".join(f"{runtime}: {error}" for runtime, error in errors.items())
    raise SandboxUnavailableError(f"{engine.name} cannot run a container here ({reasons})")


def _sweep(engine: Engine) -> None:
    """Remove containers that a killed process of ours made and did not start; started ones end by themselves."""
    with suppress(EngineError):
        for name in filter(is_abandoned, engine.never_started(LABEL)):
            engine.remove(name)


def _probe(image: ContainerImage) -> ProbedImage:
    limits = Limits()
    name = container_name()
    with ExitStack() as stack:
        folder = temporary_folder(stack, temporary_root())
        folder.chmod(0o755)
        copy_init(folder)
        try:
            answer = ask(run_command(image, name, limits, [Mount(folder, str(ENVIRONMENT))], "describe"))
        except EngineError:
            image.engine.remove(name)
            raise
    report = _read_report(answer)
    return ProbedImage(
        image=replace(image, python=report["python"]),
        version=report["version"],
        suffix=report["suffix"],
        machine=report["machine"],
        layers=tuple(_layers(report, limits)),
    )


def _read_report(answer: str) -> dict[str, Any]:
    try:
        report: dict[str, Any] = json.loads(answer)
    except ValueError as error:
        raise SandboxUnavailableError(f"the image's python3 is none: it answered {answer[:200]!r}") from error
    return report


def _layers(report: Mapping[str, Any], limits: Limits) -> Iterator[str]:
    """The layers that not every container has, as in `Execution.isolation`."""
    requested = {"memory": memory_bytes(limits), "processes": process_count(limits)}
    yield from (name for name in ("user", "cgroup-namespace") if report[name])
    held = {name for name, most in requested.items() if 0 < (report[name] or 0) <= most}
    yield from (f"cgroup-{name}" if name in held else f"rlimit-{name}" for name in requested)
    if "memory" in held and report["counts_cpu"]:
        yield "cgroup-cpu"
