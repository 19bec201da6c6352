"""The causes that a sandbox's limits give."""

from __future__ import annotations

from flyteplugins_codegen.models.report import Cause
from flyteplugins_codegen.sandbox.contract import Execution, Limits


def limit_cause(execution: Execution, limits: Limits, running: str = "") -> Cause | None:
    """The cause where a job met one of its limits; `running` names what ran when it did."""
    where = f" while {running} was running" if running else ""
    if execution.status == "timed_out":
        return Cause(kind="timed_out", subject=running, message=f"{_time_used(execution, limits)}{where}")
    if execution.status == "out_of_memory":
        return Cause(
            kind="out_of_memory",
            subject=running,
            message=f"it needed more than its {limits.memory_mib} MiB of memory{where}",
        )
    if execution.status == "output_limit":
        return Cause(
            kind="output_limit",
            subject=running,
            message=f"it wrote more than the {limits.output_mib} MiB or {limits.output_files} files that it may{where}",
        )
    return None


def _time_used(execution: Execution, limits: Limits) -> str:
    if limits.cpu_s is not None and execution.cpu_s >= limits.cpu_s:
        return f"it had not ended after {limits.cpu_s:g} s of processor time"
    return f"it had not ended after {limits.wall_s:g} s"
