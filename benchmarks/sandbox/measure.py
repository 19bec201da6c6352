"""Takes the times. What is compared is measured in turn, so that a machine's mood meets both."""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.sandbox.jobs import NOTHING
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.packages.install import install
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.sandbox import Execution, Job, Sandbox, open_sandbox
from flyteplugins_codegen.sandbox.python_files import find_interpreter

WARM_UP = 4


def in_turn(rounds: int, *actions: Callable[[], object]) -> tuple[float, ...]:
    """The median seconds of each action, taken in turn; the first round is not counted."""
    times: list[list[float]] = [[] for _ in actions]
    for number in range(rounds + 1):
        for action, taken in zip(actions, times, strict=True):
            started = time.perf_counter()
            action()
            if number:
                taken.append(time.perf_counter() - started)
    return tuple(statistics.median(taken) for taken in times)


def bare_python(folder: Path) -> Callable[[], object]:
    """Runs `python -I -c pass` by the sandbox's interpreter with as few packages around as the sandbox shows it."""
    home = find_interpreter(None).executable
    subprocess.run([home, "-m", "venv", "--without-pip", folder / "bare"], check=True)
    command = [str(folder / "bare" / "bin" / "python"), *NOTHING]
    return lambda: subprocess.run(command, check=True)


def unsandboxed(folder: Path, source: str) -> Callable[[], object]:
    """Runs a program as a plain process, its output captured."""
    program = folder / "main.py"
    program.write_text(source)
    command = [str(find_interpreter(None).executable), "-I", str(program)]
    return lambda: subprocess.run(command, check=True, capture_output=True)


def cold(sandbox: Sandbox, job: Job) -> Callable[[], object]:
    """Runs a job in a sandbox of its own."""
    return lambda: succeeded(sandbox.run(job))


def warm(sandbox: Sandbox, job: Job) -> Callable[[], object]:
    """Runs a job in a child of a warm worker, which is there after the first time."""
    return lambda: succeeded(sandbox.map([job], workers=1)[0], layer="warm")


def jobs_per_s(sandbox: Sandbox, job: Job, count: int, workers: int) -> float:
    """How many jobs a second `map` gets through once its workers are there."""
    sandbox.map([job] * WARM_UP * workers, workers=workers)
    started = time.perf_counter()
    for execution in sandbox.map((job for _ in range(count)), workers=workers):
        succeeded(execution, layer="warm")
    return count / (time.perf_counter() - started)


def calls_per_s(call: Callable[[], object], count: int, workers: int) -> float:
    """How often a second something is done, `workers` at a time."""
    with ThreadPoolExecutor(workers) as pool:
        started = time.perf_counter()
        for done in [pool.submit(call) for _ in range(count)]:
            done.result()
        return count / (time.perf_counter() - started)


def memory_over(count: int, early: int, workers: int) -> tuple[float, float]:
    """This process's resident MiB after the first `early` of `count` small warm jobs, and after the last."""
    taken: dict[int, float] = {}
    ended = itertools.count(1)

    def note(_: int, execution: Execution) -> None:
        succeeded(execution, layer="warm")
        number = next(ended)
        if number in {early, count}:
            taken[number] = resident_mib()

    job = Job(command=("python", "-c", "print(1)"))
    with open_sandbox("bubblewrap") as sandbox:
        sandbox.map((job for _ in range(count)), workers=workers, on_result=note)
    return taken[early], taken[count]


def succeeded(execution: Execution, *, layer: str | None = None) -> None:
    """Raise AssertionError where a job did not end well, or not behind that layer: its time would mean nothing."""
    assert (execution.status, execution.exit_code) == ("exited", 0), execution
    assert layer is None or layer in execution.isolation, execution.isolation


def environment_of(*packages: str) -> InstalledEnvironment:
    """These packages, installed."""
    return install(resolve(packages))


def test_environment() -> InstalledEnvironment:
    """What a suite needs."""
    return environment_of(*RUNNER_REQUIREMENTS)


def resident_mib() -> float:
    """What this process holds in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
