"""The figures: what is compared is taken in turn, each in a process of its own; medians."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.flyte.job import OUTPUTS, PROMPT, RECORDING, SEATTLE
from benchmarks.measure import ROOT
from benchmarks.sandbox.figures import Measurement

MOST_BEYOND_STAGES_S = 0.3
MOST_BEYOND_START_S = 1.0
MOST_OF_A_REFRESH_S = 2.0
_TIMEOUT_S = 300
_HELLO = """\
from flytekit import task, workflow


@task
def hello() -> str:
    return "hello"


@workflow
def greet() -> str:
    return hello()
"""


@dataclass(frozen=True)
class Place:
    """A folder with a home and a cache of its own, and how many processes are timed of each kind."""

    folder: Path
    rounds: int

    @property
    def environment(self) -> Mapping[str, str]:
        """What the processes get: the machine's own settings, no cache of the user's, and compiled modules."""
        own = {"HOME": str(self.folder), "FLYTE_CODEGEN_CACHE": str(self.folder / "cache")}
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {**kept, **own, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'support'}"}

    @property
    def solution(self) -> Path:
        """Where the demo's solution is saved."""
        return self.folder / "rainy-days"


def measure_flyte(place: Place, tell: Callable[[str], None]) -> Iterator[Measurement]:
    """Every figure, in the order of the table. `tell` hears what is being measured."""
    tell("the demo's environment")
    _job_seconds(place, "stages")
    tell("Flyte's local execution beside the stages")
    stages, flyte = _in_turn(place.rounds, lambda: _job_seconds(place, "stages"), lambda: _job_seconds(place, "flyte"))
    yield _beyond("the whole run by Flyte beside the stages", flyte, stages, MOST_BEYOND_STAGES_S)
    tell("a run whose stages are all cached")
    hello = place.folder / "hello.py"
    hello.write_text(_HELLO)
    _pyflyte_seconds(place, _generate())
    start, cached = _in_turn(
        place.rounds,
        lambda: _pyflyte_seconds(place, (str(hello), "greet")),
        lambda: _pyflyte_seconds(place, _generate()),
    )
    yield _beyond("`pyflyte run` with all stages cached beside one that greets", cached, start, MOST_BEYOND_START_S)
    tell("a refresh with nothing changed")
    refreshed = statistics.median(_job_seconds(place, "refresh") for _ in range(place.rounds))
    yield Measurement(
        "refresh with nothing changed, 1,461 rows, after import; 0 model calls, 0 tokens",
        f"{refreshed:.3f} s",
        f"at most {MOST_OF_A_REFRESH_S:g} s",
        refreshed <= MOST_OF_A_REFRESH_S,
    )


def _beyond(name: str, ours_s: float, floor_s: float, most_s: float) -> Measurement:
    measured = f"{ours_s:.3f} s beside {floor_s:.3f} s: {ours_s - floor_s:+.3f} s, {ours_s / floor_s:.2f} times"
    return Measurement(name, measured, f"at most +{most_s:g} s", ours_s - floor_s <= most_s)


def _in_turn(rounds: int, one: Callable[[], float], other: Callable[[], float]) -> tuple[float, float]:
    pairs = [(one(), other()) for _ in range(rounds)]
    return statistics.median(first for first, _ in pairs), statistics.median(second for _, second in pairs)


def _job_seconds(place: Place, job: str) -> float:
    command = [sys.executable, "-m", "benchmarks.flyte.side", job, str(place.solution)]
    return float(json.loads(_output(place, command).splitlines()[-1])["wall_s"])


def _pyflyte_seconds(place: Place, arguments: Sequence[str]) -> float:
    """From the start of the process to its end."""
    began = time.perf_counter()
    _output(place, [str(Path(sys.executable).with_name("pyflyte")), "run", *arguments])
    return time.perf_counter() - began


def _generate() -> tuple[str, ...]:
    samples, outputs = json.dumps({"weather": SEATTLE}), json.dumps(OUTPUTS)
    given = ("--prompt", PROMPT, "--model", f"replay:{RECORDING}", "--samples", samples, "--outputs", outputs)
    return ("workflows/generate.py", "generate", *given)


def _output(place: Place, command: Sequence[str]) -> str:
    """What the command prints. Raises CalledProcessError with its log where it fails."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=dict(place.environment),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, command, stderr=(done.stdout + done.stderr)[-2000:])
    return done.stdout
