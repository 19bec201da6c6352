"""What is special to containers; what every sandbox does is in tests/contract."""

from __future__ import annotations

import pytest

from flyteplugins_codegen.sandbox import ALL, Job, Sandbox, open_sandbox


@pytest.fixture(scope="module")
def sandbox(container_image):
    with open_sandbox("container", image=container_image) as opened:
        yield opened


def python(code: str, **settings) -> Job:
    return Job(command=("python", "-c", code), **settings)


def test_a_job_runs_in_a_container_and_hands_out_what_it_wrote(sandbox: Sandbox):
    code = "open('/var/outputs/x', 'w').write(open('/var/inputs/a').read() * 2)"
    execution = sandbox.run(python(code, inputs={"a": b"1"}, outputs=ALL))
    assert (execution.status, execution.exit_code, execution.outputs["x"].read_bytes(9)) == ("exited", 0, b"11")
    assert {"container", "network", "no-capabilities", "private-root"} <= set(execution.isolation)
