"""A real `pyflyte`, with a home folder of the tests' own: flytekit keeps its local cache there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


class Pyflyte:
    """Starts `pyflyte` in processes of their own; what still runs at a test's end is killed."""

    def __init__(self, folder: Path, home: Path) -> None:
        self._folder = folder
        self.environment = {**os.environ, "HOME": str(home), "COLUMNS": "400"}
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("pyflyte")), *arguments],
            cwd=cwd or self._folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def run(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, cwd=cwd)
        stdout, stderr = process.communicate(timeout=120)
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def pyflyte(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pyflyte]:
    runner = Pyflyte(tmp_path, tmp_path_factory.mktemp("home"))
    yield runner
    runner.close()
