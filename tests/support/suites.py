"""Suites to be judged: a solution, right and wrong, its tests, and how they are judged."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path

from flyteplugins_codegen.judging.suites.run import (
    SuiteJob,
    run_suite,
    suite_flaw_before_running,
    suite_report,
    suite_sandbox_job,
)
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.models.run import SuiteOrigin, SuiteReport
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Sandbox
from flyteplugins_codegen.source.tests import declared_tests

RIGHT = "def double(x):\n    return 2 * x\n"
WRONG = "def double(x):\n    return 3 * x\n"
TESTS = """
import pytest
from solution import double

def test_zero():
    assert double(0) == 0

@pytest.mark.parametrize("x", [1, 2])
def test_some(x):
    assert double(x) == 2 * x

class TestMore:
    def test_negative(self):
        assert double(-1) == -2
"""


def environment_with(folder: Path, *packages: str) -> InstalledEnvironment:
    """An environment of this interpreter's with packages installed, and compiled once, as a layer is."""
    from uv import find_uv_bin

    command = [find_uv_bin(), "pip", "install", "--quiet", "--compile-bytecode", "--target", str(folder)]
    subprocess.run([*command, "--python", sys.executable, *packages], check=True)
    python = os.path.realpath(sys.executable)
    return InstalledEnvironment(python=python, site_packages=(str(folder),), digest=folder.parent.name)


def suite_job(solution: str, tests: str = TESTS, origin: SuiteOrigin = "generated", wall_s: float = 20) -> SuiteJob:
    """One run of a suite, with the tests that its text declares."""
    limits = Limits(wall_s=wall_s)
    return SuiteJob(solution=solution, tests=tests, expected=declared_tests(tests), origin=origin, limits=limits)


def judged(
    sandbox: Sandbox, solution: str, tests: str = TESTS, origin: SuiteOrigin = "generated", wall_s: float = 20
) -> SuiteReport:
    """The report on one suite."""
    return run_suite(sandbox, suite_job(solution, tests, origin, wall_s))


def run_suites(
    sandbox: Sandbox,
    jobs: Iterable[SuiteJob],
    *,
    workers: int = 2,
    on_result: Callable[[int, SuiteReport], None] | None = None,
) -> list[SuiteReport]:
    """Run many suites, `workers` at a time, in warm workers if the sandbox has them.

    Reports are in the order of the jobs; `on_result(index, report)` is called as each ends. Jobs are drawn one by one.
    Raises SandboxError for the first job that the sandbox failed.
    """
    reports: dict[int, SuiteReport] = {}
    running: dict[int, tuple[int, SuiteJob, str]] = {}

    def settle(index: int, report: SuiteReport) -> None:
        reports[index] = report
        if on_result:
            on_result(index, report)

    def draw() -> Iterator[Job]:
        numbers = count()
        for index, job in enumerate(jobs):
            flaw = suite_flaw_before_running(job)
            if flaw is not None:
                settle(index, SuiteReport(origin=job.origin, expected=tuple(job.expected), cause=flaw))
                continue
            nonce = secrets.token_hex(16)
            running[next(numbers)] = index, job, nonce
            yield suite_sandbox_job(job, nonce)

    def end(number: int, execution: Execution) -> None:
        index, job, nonce = running.pop(number)
        settle(index, suite_report(job, nonce, execution))

    sandbox.map(draw(), workers=workers, on_result=end)
    return [reports[index] for index in sorted(reports)]


def all_judged(sandbox: Sandbox, jobs: Mapping[str, SuiteJob]) -> dict[str, SuiteReport]:
    """The reports on many suites, by name."""
    return dict(zip(jobs, run_suites(sandbox, jobs.values()), strict=True))


def kind(report: SuiteReport) -> str:
    """The kind of the cause; `passed` where there is none."""
    return report.cause.kind if report.cause else "passed"


def statuses_of_pytest(sandbox: Sandbox, jobs: Mapping[str, SuiteJob]) -> dict[str, int | None]:
    """What pytest itself ends with, run on the same files without a judge: 0 for what fools it."""
    command = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_solution.py")
    plain = [
        Job(
            command=command,
            program={"solution.py": job.solution.encode(), "test_solution.py": job.tests.encode()},
            limits=job.limits,
        )
        for job in jobs.values()
    ]
    return {name: done.exit_code for name, done in zip(jobs, sandbox.map(plain), strict=True)}
