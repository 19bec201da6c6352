"""How a job ended is told as it was, whatever it says and does; never is it taken for a failure of the sandbox."""

from __future__ import annotations

import time

import pytest
from backends import Warm
from hostile.host import Host
from hostile.lying import LIES, Lie
from hostile.trial import left_behind, make_job, make_variables

from flyteplugins_codegen.sandbox import Job, Limits, Sandbox


@pytest.mark.parametrize("lie", LIES, ids=str)
def test_its_end_is_told_of_a_program_that(sandbox: Sandbox, host: Host, lie: Lie) -> None:
    variables = make_variables(host)
    started = time.monotonic()
    execution = sandbox.run(make_job(lie.code, host, variables, lie.limits))
    elapsed_s = time.monotonic() - started
    assert execution.status in lie.ends, execution
    assert isinstance(sandbox, Warm) == ("warm" in execution.isolation)
    assert execution.message == ""
    assert b"Traceback" not in execution.stderr
    assert lie.exit_code is None or (execution.exit_code, execution.signal) == (lie.exit_code, None)
    assert 0 < execution.wall_s <= elapsed_s < lie.limits.wall_s + 5
    assert not left_behind(variables["RUN"])
    after = sandbox.run(Job(command=("sh", "-c", "echo well"), limits=Limits(wall_s=20)))
    assert (after.status, after.stdout) == ("exited", b"well\n")
