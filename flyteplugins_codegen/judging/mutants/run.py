"""Runs suites against mutants of a solution in a sandbox, and reads what became of each.

What a mutant does is no verdict on the solution: a wrong one costs at most a model call. So nothing here holds against
a solution that wants its tests taken for stronger than they are. One that looks at its own text, or at the process that
it runs in, can fail wherever it is changed. What holds is that it leaves the sandbox as little as any job does, that it
cannot stop the measuring from ending, and that only lines with the job's nonce count, of which it has no copy.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.judging.causes import DETERMINISTIC_ENVIRONMENT
from flyteplugins_codegen.judging.mutants import inside
from flyteplugins_codegen.judging.suites.inside.judged import OPTIONS
from flyteplugins_codegen.judging.suites.run import SUITE_COMMAND
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Sandbox

Fate = Literal["killed", "timed_out", "survived", "invalid"]

_GRACE_S: Final = 10.0
_RUNNER: Final = Path(inside.__file__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationJob:
    """A solution, the suites that it passed, and its mutants, all as text; `modules` are imported once for all.

    No mutant is begun after `wall_s`.
    """

    solution: str
    suites: Sequence[str]
    mutants: Sequence[str]
    wall_s: float
    modules: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)
    env: Mapping[str, str] = field(default_factory=dict)


def run_mutants(sandbox: Sandbox, job: MutationJob) -> dict[int, Fate] | None:
    """What became of each mutant that was tried, by its number; None where the solution itself did not pass.

    The sandbox's environment must offer pytest. Raises SandboxError where the sandbox failed.
    """
    nonce = secrets.token_hex(16)
    execution = sandbox.run(_sandboxed(job, nonce))
    if execution.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it ran mutants: {execution.message}")
    told = _read(execution, nonce)
    if told.pop("solution", None) != "survived":
        return None
    return {int(number): fate for number, fate in told.items()}


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
            "runner.py": _RUNNER,
            "solution.py": job.solution.encode(),
            **{f"{name}.py": suite.encode() for name, suite in suites.items()},
        },
        env={**DETERMINISTIC_ENVIRONMENT, **job.env},
        stdin=json.dumps(order).encode(),
        limits=replace(job.limits, wall_s=job.wall_s + _GRACE_S),
    )


_FATES: Final[Mapping[str, Fate]] = {
    "0": "timed_out",
    str(inside.SURVIVED): "survived",
    str(inside.INVALID): "invalid",
}


def _read(execution: Execution, nonce: str) -> dict[str, Fate]:
    """The first word of each line that has the nonce, and what it says."""
    fates: dict[str, Fate] = {}
    for line in execution.stdout.decode(errors="replace").splitlines():
        marked, _, told = line.partition(" ")
        what, _, status = told.partition(" ")
        if marked == nonce:
            fates[what] = _FATES.get(status, "killed")
    return fates
