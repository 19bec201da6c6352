"""Several solutions judged by values in one sandbox, one after the other, each by a judge of its own.

What a sandbox costs is paid once for all of them; see `judging.py` for what keeps each from the next. A verdict that
might be another one's doing is none: what stands at and after a judge that was broken off is to be judged anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flyteplugins_codegen.models.report import ValuesReport
from flyteplugins_codegen.sandbox.contract import Execution, Job
from flyteplugins_codegen.sandbox.values.run import ValuesJob, judged, new_nonce, sandboxed


@dataclass(frozen=True, slots=True)
class Batch:
    """Solutions that share a sandbox; `nonces` seal the reports on them."""

    jobs: tuple[ValuesJob, ...]
    nonces: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "nonces", tuple(new_nonce() for _ in self.jobs))


def sandboxed_batch(batch: Batch) -> Job:
    """The job that judges all of them. Raises RequestError for a pair that holds what is no plain data."""
    return sandboxed(batch.jobs[0], batch.nonces[0])


def judged_batch(batch: Batch, execution: Execution) -> list[ValuesReport | None]:
    """A report for each; None for what is to be judged anew. Raises SandboxError where the machine is to blame."""
    first = judged(batch.jobs[0], batch.nonces[0], execution)
    return [first, *(None for _ in batch.jobs[1:])]
