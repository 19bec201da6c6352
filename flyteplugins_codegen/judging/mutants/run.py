"""Runs suites against mutants of a solution in a sandbox, and reads the fate of each.

The fate of a mutant is no verdict on the solution: a wrong one costs at most a model call. So nothing here is built
against a solution that wants its tests to seem stronger than they are. One that looks at its own text, or at its
process, can fail whenever it is mutated. What holds: it leaves the sandbox as little as any job does, it cannot keep
the measurement from ending, and only lines with the job's nonce count, which it does not know.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.judging.causes import DETERMINISTIC_ENVIRONMENT
from flyteplugins_codegen.judging.mutants import inside
from flyteplugins_codegen.judging.suites.inside.candidate import OPTIONS
from flyteplugins_codegen.judging.suites.run import SUITE_COMMAND
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.payload import module_path

Fate = Literal["killed", "timed_out", "survived", "invalid"]

_GRACE_S: Final = 10.0
_FATES: Final[Mapping[str, Fate]] = {
    "0": "timed_out",
    str(inside.SURVIVED): "survived",
    str(inside.INVALID): "invalid",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationJob:
    """A solution, the suites that it passed, and its mutants, all as text; `modules` are imported once for all.

    No mutant is started after `wall_s`.
    """

    solution: str
    suites: Sequence[str]
    mutants: Sequence[str]
    wall_s: float
    modules: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)
    env: Mapping[str, str] = field(default_factory=dict)


def run_mutants(sandbox: Sandbox, job: MutationJob) -> dict[int, Fate] | None:
    """The fate of each mutant that was tried, by its number; None if the solution itself did not pass.

    The sandbox's environment must have pytest. Raises SandboxError if the sandbox failed.
    """
    nonce = secrets.token_hex(16)
    execution = sandbox.run(_sandboxed(job, nonce))
    if execution.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it ran mutants: {execution.message}")
    fates = _read(execution, nonce)
    if fates.pop("solution", None) != "survived":
        return None
    return {int(number): fate for number, fate in fates.items()}


def _sandboxed(job: MutationJob, nonce: str) -> Job:
    suites = {f"test_solution_{number}": suite for number, suite in enumerate(job.suites, 1)}
    order = {
        "nonce": nonce,
        "solution": job.solution,
        "suites": list(suites),
        "mutants": list(enumerate(job.mutants)),
        "modules": list(job.modules),
        "options": list(OPTIONS),
        "wall_s": job.wall_s,
    }
    return Job(
        command=SUITE_COMMAND,
        program={
            "runner.py": module_path(inside),
            "solution.py": job.solution.encode(),
            **{f"{name}.py": suite.encode() for name, suite in suites.items()},
        },
        env={**DETERMINISTIC_ENVIRONMENT, **job.env},
        stdin=json.dumps(order).encode(),
        limits=replace(job.limits, wall_s=job.wall_s + _GRACE_S),
    )


def _read(execution: Execution, nonce: str) -> dict[str, Fate]:
    """The fates on the lines that begin with the nonce: a mutant's number, or `solution`, with its status."""
    fates: dict[str, Fate] = {}
    for line in execution.stdout.decode(errors="replace").splitlines():
        mark, _, text = line.partition(" ")
        what, _, status = text.partition(" ")
        if mark == nonce:
            fates[what] = _FATES.get(status, "killed")
    return fates
