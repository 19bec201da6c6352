"""From what a container told of its job to what is said of the job."""

from __future__ import annotations

import os
import signal
from typing import Any

from flyteplugins_codegen.sandbox.container_hearing import Hearing, Report
from flyteplugins_codegen.sandbox.contract import Execution, Job, Status
from flyteplugins_codegen.sandbox.harvest import Harvest


def describe(job: Job, hearing: Hearing, report: Report, harvest: Harvest) -> Execution:
    """The execution, apart from its wall time and isolation."""
    known: dict[str, Any] = {}
    if report.in_time:
        code = os.waitstatus_to_exitcode(report.wait_status)
        known = {"exit_code": code} if code >= 0 else {"signal": -code}
    return Execution(
        status=_status(job, report, harvest),
        **known,
        stdout=hearing.stdout,
        stderr=hearing.stderr,
        stdout_cut=report.cut[0],
        stderr_cut=report.cut[1],
        outputs=harvest.outputs,
        missing_outputs=harvest.missing,
        refused_outputs=harvest.refused,
        cpu_s=report.cpu_s,
        peak_memory_mib=report.peak_memory_mib,
    )


def _status(job: Job, report: Report, harvest: Harvest) -> Status:
    code = os.waitstatus_to_exitcode(report.wait_status)
    if not report.in_time or report.ran_out_of_cpu or (job.limits.cpu_s is not None and -code == signal.SIGXCPU):
        return "timed_out"
    if report.oom_kills and code != 0:
        return "out_of_memory"
    if harvest.exceeded or -code == signal.SIGXFSZ or (report.outputs_are_full and code != 0):
        return "output_limit"
    return "signaled" if code < 0 else "exited"
