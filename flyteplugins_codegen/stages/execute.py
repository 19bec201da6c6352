"""Running a finished solution on real data: its environment installed, its values laid out, its outputs taken."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.bundle import SolutionBundle
from flyteplugins_codegen.models.settings import Resources, SandboxKind


class ExecutionOptions(Value):
    """How one run of a solution is done. `timeout_s` are wall seconds; `retries` are for a failed sandbox only."""

    sandbox: SandboxKind = "auto"
    resources: Resources | None = None
    timeout_s: float | None = None
    env_vars: dict[str, str] = Field(default_factory=dict)
    retries: int = 0


def execute_solution(
    bundle: SolutionBundle, values: Mapping[str, Any], folder: Path, options: ExecutionOptions
) -> dict[str, Any]:
    """Run the solution in the sandbox and return its outputs by name, in declared order.

    `values` holds every declared input: plain values, and paths for files and directories. Simple outputs come back as
    Python values, files and directories as paths below `folder`, which is made; outputs appear there whole or not at
    all.

    Raises:
        InterfaceError: an input is missing, unknown or not of its type.
        SolutionFailedError: the script ended with an error; the message ends with its stderr.
        OutputError: an output is missing or not of its type; never a half result.
        SandboxError: the sandbox failed; the program is not to blame.
    """
    raise NotImplementedError
