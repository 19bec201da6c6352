"""What a sandbox says of itself is so, and what it made is gone when it is closed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from backends import ISOLATING, UNGROUPED, Warm, open_backend
from hostile.host import Host
from hostile.trial import left_behind, make_job, make_variables

from flyteplugins_codegen.sandbox import ALL, Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.staging import UNPRIVILEGED_UID


def test_the_layers_that_hold_are_named(sandbox: Sandbox) -> None:
    isolation = set(sandbox.run(Job(command=("true",))).isolation)
    assert {"mount", "pid", "network", "ipc", "uts", "private-root"} <= isolation
    assert {"unprivileged-uid", "no-capabilities", "no-new-privileges", "no-nested-user-namespace"} <= isolation
    assert "seccomp" in isolation
    assert ("warm" in isolation) == isinstance(sandbox, Warm)
    assert ("container" in isolation) == (sandbox.kind == "container")
    assert isolation & {"rlimit-memory", "cgroup-memory"}
    assert isolation & {"rlimit-processes", "cgroup-processes"}
    assert "none" not in isolation


def test_no_process_of_a_job_is_roots(sandbox: Sandbox, host: Host) -> None:
    variables = make_variables(host)
    asleep = make_job("import time\ntime.sleep(0.7)", host, variables, Limits())
    with ThreadPoolExecutor() as pool:
        running = pool.submit(sandbox.run, asleep)
        owners: set[int] = set()
        while not running.done():
            owners.update(uid for process in left_behind(variables["RUN"]) for uid in uids_of(Path("/proc", process)))
    assert running.result().exit_code == 0
    assert owners == {os.geteuid() or UNPRIVILEGED_UID}


def uids_of(process: Path) -> Iterator[int]:
    """As whom a process acts; `nsenter` has yet to drop root."""
    with contextlib.suppress(OSError):  # it ended meanwhile
        if not (process / "cmdline").read_bytes().startswith(b"nsenter"):
            yield from map(int, (process / "status").read_text().partition("Uid:")[2].split()[:4])


@pytest.mark.parametrize("name", [*ISOLATING, UNGROUPED])
def test_a_closed_sandbox_leaves_nothing_on_this_machine(name, host, monkeypatch, request) -> None:
    folder = Path(tempfile.mkdtemp(dir=host.folder.parent))
    folder.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    variables = make_variables(host)
    before = set(named_after_us())  # of other tests' bombs, what the kernel has not let go yet
    code = "daemon(stay)\nwrite(f'{OUT}/x')\nos.mkdir(f'{OUT}/y')"
    try:
        with open_backend(name, image=lambda: request.getfixturevalue("container_image")) as sandbox:
            job = make_job(code, host, variables, Limits(), outputs=ALL)
            executions = [sandbox.run(job), *sandbox.map([job, replace(job, command=("no-such-program",))])]
            assert [execution.status for execution in executions] == ["exited", "exited", "sandbox_error"]
        assert not list(folder.iterdir())
        assert not left_behind(variables["RUN"])
        assert set(named_after_us()) <= before
        assert str(folder) not in Path("/proc/self/mountinfo").read_text()
    finally:
        shutil.rmtree(folder)


def named_after_us() -> Iterator[str]:
    """The control groups and containers whose names say that they are this process's."""
    for _, names, _ in os.walk("/sys/fs/cgroup"):
        yield from (name for name in names if name.startswith("codegen-job-") and f"-{os.getpid()}-" in name)
    if podman := shutil.which("podman"):
        listed = subprocess.run(
            [podman, "ps", "--all", "--format={{.Names}}"], capture_output=True, text=True, check=True
        )
        yield from (name for name in listed.stdout.split() if f"-{os.getpid()}-" in name)
