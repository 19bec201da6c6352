"""Runs a pytest suite against a solution in a sandbox, and makes the report on it.

`inside/` is the program that runs there; `docs/judging.md` explains what it can be trusted with.
"""

from __future__ import annotations

import secrets
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.judging.causes import DETERMINISTIC_ENVIRONMENT, limit_cause, syntax_cause
from flyteplugins_codegen.judging.suites.inside import start
from flyteplugins_codegen.judging.suites.verdict import (
    Charge,
    SuiteEvidence,
    cross_check,
    judge_suite,
    missing_tests,
    read_evidence,
    read_suite,
)
from flyteplugins_codegen.models.run import Cause, SuiteOrigin, SuiteReport
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.null_device import check_null_device
from flyteplugins_codegen.sandbox.payload import module_path, pack_modules
from flyteplugins_codegen.text import decoded, failure_text

SUITE_COMMAND: Final = ("python", "/app/runner.py")

SUITE_MODULES: Final = (
    "pytest",
    # What pytest imports only when it runs.
    "_pytest._argcomplete",
    "_pytest.faulthandler",
    "_pytest.helpconfig",
    "_pytest.junitxml",
    "_pytest.skipping",
    "_pytest.tracemalloc",
    "_pytest.unittest",
    "_pytest.warnings",
    "difflib",
    "encodings.unicode_escape",
    "unittest",
    # What our runner imports besides.
    "_blake2",
    "fcntl",
    "json",
    "readline",
    "select",
    "signal",
    "tempfile",
)
"""What a warm worker imports ahead for jobs that run a suite (`preload` of `open_sandbox`)."""


_NO_TESTS: Final = b"# The tests are kept in memory, where the solution does not find them.\n"
_REPORT_KIB: Final = 16 << 10  # some 250 bytes for each test that passes
_MAX_OUTPUT_CHARS: Final = 4_000
_NEARLY_ALL: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteJob:
    """One run of a suite: solution and tests as text; neither is ever imported here.

    `expected` names the tests that the source declares (`source.declared_tests`): the verdict compares them with those
    that reported.
    """

    solution: str
    tests: str
    expected: Sequence[str]
    origin: SuiteOrigin
    limits: Limits = field(default_factory=Limits)
    env: Mapping[str, str] = field(default_factory=dict)


def run_suite(sandbox: Sandbox, job: SuiteJob) -> SuiteReport:
    """Run the tests against the solution. The sandbox's environment must offer pytest.

    Raises:
        SandboxError: the sandbox failed, its environment has no pytest, or the machine has no usable /dev/null; the
            candidate is not to blame.
    """
    flaw = suite_flaw_before_running(job)
    if flaw is not None:
        return SuiteReport(origin=job.origin, expected=tuple(job.expected), cause=flaw)
    nonce = secrets.token_hex(16)
    execution = sandbox.run(suite_sandbox_job(job, nonce))
    report = suite_report(job, nonce, execution)
    if report.cause is not None:
        # The runner's own traceback, if it could not start the process of the tests, is on stderr alone.
        check_null_device(sandbox, report.model_dump_json() + decoded(execution.stderr, execution.stderr_cut))
    return report


def suite_report(job: SuiteJob, nonce: str, execution: Execution) -> SuiteReport:
    """The report on an execution of the sandboxed job. Raises SandboxError if the solution is not to blame."""
    if execution.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it ran the {job.origin} tests: {execution.message}")
    source, expected = read_suite(job.tests), tuple(job.expected)
    evidence = cross_check(read_evidence(execution.stdout, nonce), source)
    _check_environment(evidence, execution)
    return SuiteReport(
        origin=job.origin,
        expected=expected,
        tests=(*evidence.tests, *missing_tests(evidence, expected)),
        exit_code=evidence.exit_status,
        output=failure_text(evidence.output, _MAX_OUTPUT_CHARS),
        cause=(
            limit_cause(execution, job.limits, evidence.running)
            or _memory_cause(execution, job.limits, evidence)
            or _cut_cause(execution)
            or judge_suite(Charge(evidence, expected, job.origin, source.may_skip))
        ),
        wall_s=execution.wall_s,
        isolation=execution.isolation,
    )


def _memory_cause(execution: Execution, limits: Limits, evidence: SuiteEvidence) -> Cause | None:
    """The cause if the kernel killed only the process of the tests for lack of memory: the job itself then exits."""
    was_killed = evidence.exit_status == -signal.SIGKILL
    if not was_killed or execution.peak_memory_mib < _NEARLY_ALL * limits.memory_mib:
        return None
    return limit_cause(replace(execution, status="out_of_memory"), limits, evidence.running)


def suite_flaw_before_running(job: SuiteJob) -> Cause | None:
    """The cause if there is nothing to run: the solution or the tests are not Python, or there are no tests."""
    flaw = syntax_cause(job.solution, "solution.py")
    if flaw is not None:
        return flaw
    flaw = syntax_cause(job.tests, "test_solution.py")
    if flaw is not None:
        return Cause(kind="broken_tests", subject="test_solution.py", message=flaw.message, is_certain=True)
    if not job.expected:
        message = "test_solution.py declares no test, no function named test_*"
        return Cause(kind="nothing_ran", message=message, is_certain=True)
    return None


def suite_sandbox_job(job: SuiteJob, nonce: str) -> Job:
    """The sandboxed job that runs the suite; `nonce` marks the lines of its report."""
    return Job(
        command=SUITE_COMMAND,
        program={
            **suite_program(),
            "solution.py": job.solution.encode(),
            "test_solution.py": _NO_TESTS,
        },
        env={**DETERMINISTIC_ENVIRONMENT, **job.env},
        stdin=f"{nonce}\n{job.tests}".encode(),
        limits=replace(job.limits, stream_kib=max(job.limits.stream_kib, _REPORT_KIB)),
    )


def _cut_cause(execution: Execution) -> Cause | None:
    if not execution.stdout_cut:
        return None
    message = f"the report on the tests was cut after {len(execution.stdout) >> 10} KiB; have fewer tests or cases"
    return Cause(kind="untrusted_report", message=message)


def _check_environment(evidence: SuiteEvidence, execution: Execution) -> None:
    """Raise SandboxError if the runner could not even start: that is a fault of the environment, not of the suite."""
    if evidence.no_pytest:
        raise SandboxError(
            "the environment of the sandbox has no pytest that can be imported; "
            f"add it to the packages that tests run with ({evidence.no_pytest})"
        )
    if evidence.unprepared:
        raise SandboxError(f"the test runner could not make the tests ready: {evidence.unprepared}")
    if execution.status == "exited" and not evidence.has_begun:
        said = decoded(execution.stderr, execution.stderr_cut)
        raise SandboxError(f"the test runner did not start (status {execution.exit_code}): {said}")


@cache
def suite_program() -> Mapping[str, Path | bytes]:
    """The files of the program inside: `runner.py` and the archive of its parts, which spares each run compiling them.

    Compiling takes some 9 ms.
    """
    sources = {name: module_path(start).with_name(f"{name}.py").read_bytes() for name in start.PARTS}
    return MappingProxyType(
        {"runner.py": module_path(start), start.ARCHIVE: pack_modules(sources, file_name=start.FILE_NAME)}
    )


def suite_rehearsal(env: Mapping[str, str]) -> Job:
    """A job that does nothing. After it, a suite with these environment variables finds its warm worker."""
    return Job(command=SUITE_COMMAND, program={"runner.py": b""}, env={**DETERMINISTIC_ENVIRONMENT, **env})
