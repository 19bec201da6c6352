"""What `make test` does under CI with tests that do not run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_PATIENCE_S = 300  # other tests use the machine, too: the worker's start and end have taken more than 60 s
SUPPORT = Path(__file__).parents[1] / "support"
SKIPS = {
    "by a mark": "@pytest.mark.skip(reason='no docker here')\ndef test_it(): pass",
    "by a condition": "@pytest.mark.skipif(True, reason='no docker here')\ndef test_it(): pass",
    "inside": "def test_it(): pytest.skip('no docker here')",
    "as a whole module": "pytest.skip('no docker here', allow_module_level=True)",
    "by a missing import": "pytest.importorskip('no_docker_here', reason='no docker here')",
}


def run_pytest(folder: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(f"import pytest\n{source}\n")
    command = [sys.executable, "-m", "pytest", "-p", "no_silent_skips", *options, "test_it.py"]
    environment = {"PYTHONPATH": str(SUPPORT), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_PATIENCE_S, check=False
    )


@pytest.mark.parametrize("source", SKIPS.values(), ids=SKIPS.keys())
def test_a_skip_fails_the_run_and_shows_its_reason(tmp_path: Path, source: str) -> None:
    finished = run_pytest(tmp_path, source)
    assert finished.returncode in (1, 2), finished.stdout
    assert "skipped where everything must run" in finished.stdout
    assert "no docker here" in finished.stdout


def test_a_skip_in_a_worker_process_fails_the_run(tmp_path: Path) -> None:
    finished = run_pytest(tmp_path, SKIPS["inside"], "-n", "1")
    assert finished.returncode == 1, finished.stdout
    assert "1 failed" in finished.stdout


def test_an_expected_failure_counts_as_having_run(tmp_path: Path) -> None:
    finished = run_pytest(tmp_path, "@pytest.mark.xfail(reason='known')\ndef test_it(): assert False")
    assert finished.returncode == 0, finished.stdout
    assert "1 xfailed" in finished.stdout


def test_a_run_without_skips_passes(tmp_path: Path) -> None:
    finished = run_pytest(tmp_path, "def test_it(): pass")
    assert finished.returncode == 0, finished.stdout
