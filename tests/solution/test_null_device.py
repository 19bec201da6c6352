"""A machine whose /dev/null cannot be used is not held against a candidate; a candidate that only says so is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flyteplugins_codegen.judging.suites.run import SuiteJob, run_suite
from flyteplugins_codegen.packages.install import install
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.solution.script import ScriptJob, run_script

USES_IT = "import subprocess\nsubprocess.run(['true'], stdin=subprocess.DEVNULL)\n"
SAYS_SO = "raise PermissionError(13, 'Permission denied', '/dev/null')\n"
COVER = 'mount --bind "$0" /dev/null && exec "$@"'
MISUSES_IT = "open('/dev/null/x')\n"
JUDGES = f"""
from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.judging.suites.run import SuiteJob, run_suite
from flyteplugins_codegen.packages.install import install
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.solution.script import ScriptJob, run_script

tests = "def test_a():\\n    assert True is not None\\n"
with open_sandbox("bubblewrap", environment=install(resolve(RUNNER_REQUIREMENTS))) as sandbox:
    for run, job in (
        (run_script, ScriptJob(solution={USES_IT!r}, inputs={{}}, outputs={{}}, values={{}})),
        (run_suite, SuiteJob(solution="", tests=tests, expected=["test_a"], origin="generated")),
        (run_script, ScriptJob(solution="", inputs={{}}, outputs={{}}, values={{}})),
    ):
        try:
            run(sandbox, job)
            print("judged")
        except SandboxError as error:
            print(error)
"""


def test_an_unusable_null_device_is_an_error_of_the_machine_for_scripts_and_for_tests(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can cover the null device, in a mount namespace of its own")
    cover = tmp_path / "null"
    cover.touch(mode=0o000)
    done = subprocess.run(
        [*("unshare", "--mount", "sh", "-c", COVER), str(cover), sys.executable, "-c", JUDGES],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        stdin=subprocess.PIPE,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    for said in lines:
        assert said.startswith(
            "/dev/null cannot be used in the sandbox, so that programs fail that open it: [Errno 13]"
        )
        assert said.endswith("(mknod -m 666 /dev/null c 1 3)")


@pytest.mark.parametrize("code", [SAYS_SO, MISUSES_IT])
def test_a_program_that_blames_a_null_device_that_works_is_judged(code: str) -> None:
    with open_sandbox("bubblewrap", environment=install(resolve(RUNNER_REQUIREMENTS))) as sandbox:
        run, _ = run_script(sandbox, ScriptJob(solution=code, inputs={}, outputs={}, values={}))
        assert run.cause is not None
        assert run.cause.kind == "exception"
        tests = f"def test_a():\n    {code}\n"
        report = run_suite(sandbox, SuiteJob(solution="", tests=tests, expected=["test_a"], origin="generated"))
        assert report.cause is not None
        assert report.cause.kind == "test_failed"
