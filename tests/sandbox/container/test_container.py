"""Behaviour of containers only; tests/contract has what every sandbox does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from base_image import podman

from flyteplugins_codegen.sandbox import Execution, Job, Limits, Sandbox, open_sandbox
from flyteplugins_codegen.sandbox.container.engine import find_engines, find_image
from flyteplugins_codegen.sandbox.container.probe import ProbedImage, probe_image

NOWHERE = "localhost:1/none"
SLEEP = """
import sys
from flyteplugins_codegen.sandbox import Job, open_sandbox
with open_sandbox("container", image=sys.argv[1]) as sandbox:
    print("open", flush=True)
    sandbox.run(Job(command=("sh", "-c", sys.argv[2])))
"""


@pytest.fixture(scope="module")
def sandbox(container_image: str) -> Iterator[Sandbox]:
    with open_sandbox("container", image=container_image) as opened:
        yield opened


@pytest.fixture
def probed(container_image: str) -> ProbedImage:
    engine = next(find_engines())
    return probe_image(engine, find_image(engine, container_image, may_pull=False))


def run(sandbox: Sandbox, code: str, **settings) -> Execution:
    return sandbox.run(Job(command=("python", "-c", code), **settings))


# --- process 1 --------------------------------------------------------------------------------------------------------


def test_process_1_is_closed_to_the_job(sandbox):
    code = """
import os
for name in ("environ", "mem", "fd", "maps", "root", "cwd"):
    try:
        path = f"/proc/1/{name}"
        os.listdir(path) if name in {"fd", "root", "cwd"} else open(path, "rb")
        print("open:", name)
    except PermissionError:
        pass
"""
    execution = run(sandbox, code)
    assert (execution.exit_code, execution.stdout, execution.stderr) == (0, b"", b"")


def test_signals_to_process_1_change_nothing(sandbox):
    code = "import os\n[os.kill(1, number) for number in range(1, 65) if number not in (32, 33)]\nprint('done')"
    execution = run(sandbox, code)
    assert (execution.status, execution.exit_code, execution.stdout) == ("exited", 0, b"done\n")


@pytest.mark.parametrize("kind", ["NOFILE", "CPU", "AS", "FSIZE"])
def test_the_limits_of_process_1_cannot_be_changed(sandbox, kind):
    code = f"import resource\nresource.prlimit(1, resource.RLIMIT_{kind}, (0, 0))"
    execution = run(sandbox, code)
    assert (execution.status, execution.exit_code) == ("exited", 1)
    assert b"PermissionError" in execution.stderr


def test_a_job_that_uses_up_memory_is_out_of_memory_even_if_process_1_is_killed(sandbox):
    """Files belong to no process: if the job hides from the kernel's choice, only process 1 is left to kill."""
    code = """
open("/proc/self/oom_score_adj", "w").write("0")
print("begun", flush=True)
for folder in ("/tmp", "/dev/shm", "/var/outputs"):
    with open(folder + "/x", "wb", 0) as file:
        for _ in range(60):
            file.write(b"x" * (1 << 20))
"""
    execution = run(sandbox, code, limits=Limits(memory_mib=100, wall_s=30))
    assert (execution.status, execution.stdout) == ("out_of_memory", b"begun\n")


def test_what_a_job_reads_cannot_be_read_anew(sandbox):
    code = """
import os, subprocess, sys
sys.stdin.read()
os.close(0)
found = subprocess.run(["grep", "-rsl", "what-the-judge-knows", "/environment", "/app", "/tmp", "/var", "/run"],
                       capture_output=True, text=True)
print(found.stdout)
"""
    execution = run(sandbox, code, stdin=b"what-the-judge-knows")
    assert (execution.exit_code, execution.stdout) == (0, b"\n"), execution.stderr


def test_processor_time_is_counted_over_all_processes(sandbox):
    code = "import os\nfor _ in range(2): os.fork()\nwhile True: pass"
    execution = run(sandbox, code, limits=Limits(wall_s=30, cpu_s=1))
    assert (execution.status, execution.exit_code, execution.signal) == ("timed_out", None, None)
    assert 1 <= execution.cpu_s < 5


def test_a_job_may_have_all_the_time_in_the_world(sandbox):
    assert run(sandbox, "print(1)", limits=Limits(wall_s=1e12)).stdout == b"1\n"


# --- nothing is left behind -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("killed", ["the supervisor", "the engine's program", "both"])
@pytest.mark.parametrize("noise", ["sleep 60", "yes"])
def test_a_container_does_not_outlive_its_supervisor(container_image, killed, noise):
    command = [sys.executable, "-c", SLEEP, container_image, f"{noise}; sleep 60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout
        assert supervisor.stdout.readline() == b"open\n"
        wait_until(lambda: started(supervisor.pid))
        engine = children(supervisor.pid)
        for pid in ([] if killed == "the supervisor" else engine) + (
            [] if killed == "the engine's program" else [supervisor.pid]
        ):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not podman("ps", "--all", "--quiet", "--filter", f"name=-{supervisor.pid}-"))


def started(supervisor: int) -> bool:
    return bool(podman("ps", "--quiet", "--filter", f"name=-{supervisor}-", "--filter", "status=running"))


def children(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def wait_until(holds) -> None:
    deadline = time.monotonic() + 90  # podman takes its time on a busy machine
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_outputs_that_find_no_room_here_are_the_sandbox_s_failure_and_nobody_waits_for_them(container_image):
    code = "open('/var/outputs/x', 'wb').write(bytes(20 << 20))"
    with open_sandbox("container", image=container_image) as sandbox:
        (sandbox._folder / "outputs").rmdir()
        started_s = time.monotonic()
        execution = run(sandbox, code, outputs=("x",))
        assert (execution.status, execution.exit_code) == ("sandbox_error", None)
        assert "No such file or directory" in execution.message
        assert time.monotonic() - started_s < 9
        assert not podman("ps", "--all", "--quiet", "--filter", f"name=-{os.getpid()}-")
