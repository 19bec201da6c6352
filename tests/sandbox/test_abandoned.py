"""A killed supervisor leaves nothing that runs, and nothing that the next one does not remove."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from flyteplugins_codegen.sandbox import temporary
from flyteplugins_codegen.sandbox.temporary import is_abandoned

SUPERVISOR = """
import sys
from flyteplugins_codegen.sandbox import Job, Limits, open_sandbox
with open_sandbox(sys.argv[1]) as sandbox:
    program = b"import os, time\\nif os.fork() == 0: os.setsid()\\nprint(flush=True)\\ntime.sleep(120)"
    command = ("python", "main.py", sys.argv[2])
    sandbox.run(Job(command=command, program={"main.py": program}, inputs={"x": b"x"}, limits=Limits(wall_s=100)))
"""


def running(marker: str) -> set[int]:
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            arguments = path.read_bytes().split(b"\0")
            found |= {int(path.parent.name)} if marker.encode() in arguments and b"main.py" in arguments else set()
    return found


def wait_for_jobs(marker: str, *, at_least: int = 0, at_most: int = 1000) -> None:
    deadline = time.monotonic() + 30
    while not at_least <= len(running(marker)) <= at_most:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files that nothing else uses, reachable for the user that jobs run as."""
    with ExitStack() as stack:
        root = temporary.temporary_folder(stack, temporary.temporary_root())
        monkeypatch.setattr("tempfile.tempdir", str(root))
        yield root


@pytest.mark.parametrize("kind", ["bubblewrap", "none"])
def test_a_killed_supervisor_leaves_no_running_job_and_the_next_removes_its_folders(kind, root):
    marker = f"abandoned-{kind}-{time.monotonic_ns()}"
    command = [sys.executable, "-c", SUPERVISOR, kind, marker]
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(root)}) as supervisor:
        wait_for_jobs(marker, at_least=2)
        supervisor.send_signal(signal.SIGKILL)
    wait_for_jobs(marker, at_most=0)
    remaining = {path.name for path in root.iterdir()}
    assert remaining
    assert all(is_abandoned(name) for name in remaining)
    temporary._sweep.cache_clear()
    with ExitStack() as stack:
        temporary.make_folder(stack)
        assert not remaining & {path.name for path in root.iterdir()}
    assert list(root.iterdir()) == []


def test_folders_of_the_living_and_of_strangers_stay(root):
    (root / "codegen-sandbox-notes").mkdir()
    (root / "other").mkdir()
    with ExitStack() as stack:
        mine = temporary.make_folder(stack)
        temporary._sweep.cache_clear()
        temporary.make_folder(stack)
        assert mine.exists()
    assert {path.name for path in root.iterdir()} == {"codegen-sandbox-notes", "other"}
