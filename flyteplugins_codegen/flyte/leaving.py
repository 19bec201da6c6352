"""Where a run leaves its solution folder, and what it says to whoever started it."""

from __future__ import annotations

import shlex
from pathlib import Path

import flytekit
from flytekit.types.directory import FlyteDirectory

from flyteplugins_codegen.flyte.caching import runs_locally
from flyteplugins_codegen.flyte.readable import logger
from flyteplugins_codegen.flyte.task_module import task_variable
from flyteplugins_codegen.models.interface import type_name
from flyteplugins_codegen.result import CodeGenEvalResult
from flyteplugins_codegen.store import cache_dir, digest


def folder_for(result: CodeGenEvalResult, save_to: str) -> Path:
    """Where to write the folder: as asked; else, on this machine, a lasting place named by the solution's content."""
    name = task_variable(result.settings.name)
    if not runs_locally():
        return Path(flytekit.current_context().working_directory) / name
    if save_to:
        return Path(save_to).absolute()
    content = digest(result.solution, result.tests, result.declared_inputs, result.declared_outputs)
    return cache_dir() / "solutions" / f"{name}-{content[:12]}"


def upload(folder: Path, save_to: str) -> FlyteDirectory:
    """The folder as an output; on a cluster it goes to the address `save_to`, or where Flyte puts it."""
    return FlyteDirectory(str(folder), remote_directory=None if runs_locally() else save_to or None)


def tell(result: CodeGenEvalResult, folder: Path) -> None:
    """Say where the solution is and how to run it."""
    logger.info("solution folder: %s", folder)
    if result.success:
        options = "".join(f" --{name} {_placeholder(kind)}" for name, kind in result.declared_inputs.items())
        task_module = shlex.quote(str(folder / "task.py"))
        logger.info("run it again: pyflyte run %s %s%s", task_module, task_variable(result.settings.name), options)


def _placeholder(kind: type) -> str:
    return (type_name(kind) or kind.__name__).upper()
