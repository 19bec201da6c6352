"""Several solutions judged by values in one sandbox, one after the other, each by a judge of its own.

What a sandbox costs is paid once for all of them; see `turns.py` for what keeps each from the next. A verdict that
might be another one's doing is none: what stands at and after a judge that was kept from its verdict is judged anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flyteplugins_codegen.models.report import ValuesReport
from flyteplugins_codegen.sandbox.contract import Execution, Job
from flyteplugins_codegen.sandbox.values.checks import case_names
from flyteplugins_codegen.sandbox.values.run import ValuesJob, judged, new_nonce, sandboxed_in_turn
from flyteplugins_codegen.sandbox.values.verdict import judge_in_turn


@dataclass(frozen=True, slots=True)
class Batch:
    """Solutions that share a sandbox, alike in variables and in all limits but time; `nonces` seal their reports."""

    jobs: tuple[ValuesJob, ...]
    nonces: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nonces", tuple(new_nonce() for _ in self.jobs))


def sandboxed_batch(batch: Batch) -> Job:
    """The job that judges all of them. Raises RequestError for a pair that holds what is no plain data."""
    return sandboxed_in_turn(batch.jobs, batch.nonces)


def judged_batch(batch: Batch, execution: Execution) -> list[ValuesReport | None]:
    """A report for each; None for what is to be judged anew, which is never the only one.

    Raises SandboxError where the machine is to blame.
    """
    if len(batch.jobs) == 1:
        return [judged(batch.jobs[0], batch.nonces[0], execution)]
    return judge_in_turn(execution, batch.nonces, [case_names(job.checks) for job in batch.jobs])
