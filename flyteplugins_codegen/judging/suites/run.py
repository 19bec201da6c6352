"""Runs a pytest suite against a solution in a sandbox, and judges it from outside."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Final

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.judging.causes import DETERMINISTIC_ENVIRONMENT, limit_cause, syntax_cause
from flyteplugins_codegen.judging.suites.inside import start
from flyteplugins_codegen.judging.suites.verdict import (
    Charge,
    Evidence,
    judge_suite,
    missing_tests,
    read_evidence,
    read_suite,
    settle,
)
from flyteplugins_codegen.models.run import Cause, SuiteOrigin, SuiteReport
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.payload import module_path, pack_modules
from flyteplugins_codegen.text import decoded, failure_text

# The files of the program that runs a suite inside the sandbox, ready to be put under /app.

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


@cache
def suite_program() -> Mapping[str, Path | bytes]:
    """`runner.py` and its parts. Compiling these in each run would take some 9 ms."""
    sources = {name: module_path(start).with_name(f"{name}.py").read_bytes() for name in start.PARTS}
    return MappingProxyType(
        {"runner.py": module_path(start), start.ARCHIVE: pack_modules(sources, file_name=start.FILE_NAME)}
    )


def suite_rehearsal(env: Mapping[str, str]) -> Job:
    """A job that does nothing, after which a suite with these variables finds its warm worker."""
    return Job(command=SUITE_COMMAND, program={"runner.py": b""}, env={**DETERMINISTIC_ENVIRONMENT, **env})


_NO_TESTS: Final = b"# The tests are kept in memory, where the solution does not find them.\n"
_REPORT_KIB: Final = 16 << 10  # some 250 bytes for each test that passes
_MAX_OUTPUT_CHARS: Final = 4_000
_NEARLY_ALL: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteJob:
    """One run of a suite: solution and tests as text; neither is ever imported here.

    `expected` names the tests that the source declares (`source.declared_tests`): the verdict holds them against what
    reported.
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
        SandboxError: the sandbox failed, or its environment has no pytest; the candidate is not to blame.
    """
    flaw = suite_flaw_before_running(job)
    if flaw is not None:
        return _not_run(job, flaw)
    nonce = secrets.token_hex(16)
    return judged(job, nonce, sandbox.run(sandboxed(job, nonce)))


def run_suites(
    sandbox: Sandbox,
    jobs: Iterable[SuiteJob],
    *,
    workers: int = 2,
    on_result: Callable[[int, SuiteReport], None] | None = None,
) -> list[SuiteReport]:
    """Run many suites, `workers` at a time, in workers that are warm where the sandbox has such.

    Reports are in the order of the jobs; `on_result(index, report)` is called as each ends. Jobs are drawn one by one.

    Raises:
        SandboxError: as `run_suite` does, for the first job that it happens to. What ended before has been given to
            `on_result`.
    """
    reports: dict[int, SuiteReport] = {}
    running: dict[int, tuple[int, SuiteJob, str]] = {}

    def told(index: int, report: SuiteReport) -> None:
        reports[index] = report
        if on_result:
            on_result(index, report)

    def draw() -> Iterator[Job]:
        numbers = count()
        for index, job in enumerate(jobs):
            flaw = suite_flaw_before_running(job)
            if flaw is not None:
                told(index, _not_run(job, flaw))
                continue
            nonce = secrets.token_hex(16)
            running[next(numbers)] = index, job, nonce
            yield sandboxed(job, nonce)

    def ended(number: int, execution: Execution) -> None:
        index, job, nonce = running.pop(number)
        told(index, judged(job, nonce, execution))

    sandbox.map(draw(), workers=workers, on_result=ended)
    return [reports[index] for index in sorted(reports)]


def _not_run(job: SuiteJob, flaw: Cause) -> SuiteReport:
    return SuiteReport(origin=job.origin, expected=tuple(job.expected), cause=flaw)


def judged(job: SuiteJob, nonce: str, execution: Execution) -> SuiteReport:
    """What an execution of the sandboxed job says of the solution. Raises SandboxError where it is not to blame."""
    if execution.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it ran the {job.origin} tests: {execution.message}")
    source, expected = read_suite(job.tests), tuple(job.expected)
    evidence = settle(read_evidence(execution.stdout, nonce), source)
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


def _memory_cause(execution: Execution, limits: Limits, evidence: Evidence) -> Cause | None:
    """Of a lack of memory the kernel ends the process of the tests alone: the job as such ends well."""
    was_killed = evidence.exit_status == -signal.SIGKILL
    if not was_killed or execution.peak_memory_mib < _NEARLY_ALL * limits.memory_mib:
        return None
    return limit_cause(replace(execution, status="out_of_memory"), limits, evidence.running)


def suite_flaw_before_running(job: SuiteJob) -> Cause | None:
    """Why there is nothing to run: the solution or the tests are not Python, or there are no tests."""
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


def sandboxed(job: SuiteJob, nonce: str) -> Job:
    """The job that runs the suite in any sandbox; `nonce` seals its report."""
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


def _check_environment(evidence: Evidence, execution: Execution) -> None:
    """Tell an environment in which the runner cannot even start from a suite that failed."""
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
