"""What is measured of the sandbox, with its targets; every ratio is taken in one run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from base_image import BaseImageError, base_image, podman
from suites import run_suites

from benchmarks.sandbox import jobs, measure
from flyteplugins_codegen.judging.suites.run import SUITE_MODULES, run_suite
from flyteplugins_codegen.judging.values.run import run_many
from flyteplugins_codegen.sandbox import open_sandbox

WORKERS = 2
EARLY = 0.1  # of the long run's jobs: what is allocated once is there by then
LITTLE_MIB = 16.0  # what 32,800 small results themselves take
COLD_MS, JOBS_PER_S, OVER_COLD, SUITE_SHARE, PANDAS_SHARE = 15, 150, 2.5, 0.35, 0.12


@dataclass(frozen=True)
class Measurement:
    """One figure, ready to be read. `is_met` is None where there is no target."""

    name: str
    measured: str
    target: str = ""
    is_met: bool | None = None


@dataclass(frozen=True)
class SandboxEffort:
    """How much is run: rounds of single jobs, jobs of one `map`, and jobs of the long run."""

    rounds: int = 30
    jobs: int = 600
    long_run: int = 32_800


def measure_sandbox(effort: SandboxEffort, tell: Callable[[str], None]) -> Iterator[Measurement]:
    """Every figure, one after the other: they must not disturb each other."""
    for what, measurements in (
        ("cold jobs", cold_jobs),
        ("containers", containers),
        ("warm workers", many_jobs),
        ("a suite", suites),
        ("a pandas script", pandas_scripts),
        ("verdicts by values", verdicts_by_values),
        (f"{effort.long_run:,} jobs in a row", long_run),
    ):
        tell(f"The sandbox: {what}")
        yield from measurements(effort)


def cold_jobs(effort: SandboxEffort) -> Iterator[Measurement]:
    """One job at a time: a plain process, and a cold sandbox."""
    with tempfile.TemporaryDirectory() as folder, open_sandbox("bubblewrap") as sandbox:
        bare, cold = measure.in_turn(
            effort.rounds, measure.bare_python(Path(folder)), measure.cold(sandbox, jobs.empty_job())
        )
    added = 1000 * (cold - bare)
    yield Measurement("plain `python -I -c pass`", f"{1000 * bare:.1f} ms")
    yield Measurement("the same as a cold job", f"+ {added:.1f} ms", f"+ at most {COLD_MS} ms", added <= COLD_MS)


def containers(effort: SandboxEffort) -> Iterator[Measurement]:
    """The same in the tests' own image: `podman run` as it is, and a job in a container, with all that holds there."""
    try:
        image = base_image()
    except BaseImageError as error:
        yield Measurement("`podman run`", f"not measured: {error}")
        return
    runtime = ("--runtime", "runc") if shutil.which("runc") else ()  # podman's own fails with hybrid control groups
    limits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
    arguments = (*runtime, "run", "--rm", "--network", "none", *limits, image, "python3", *jobs.NOTHING)
    with open_sandbox("container", image=image) as sandbox:
        took = measure.in_turn(
            max(3, effort.rounds // 5), lambda: podman(*arguments), measure.cold(sandbox, jobs.empty_job())
        )
    for name, seconds in zip(("`podman run` of it", "the same as a job in a container"), took, strict=True):
        yield Measurement(name, f"{1000 * seconds:.0f} ms")


def many_jobs(effort: SandboxEffort) -> Iterator[Measurement]:
    """A problem of HumanEval's size, two at a time: warm, cold, and plain processes without any isolation."""
    job = jobs.human_eval_job()
    with tempfile.TemporaryDirectory() as folder, open_sandbox("bubblewrap") as sandbox:
        warm = measure.jobs_per_s(sandbox, job, effort.jobs, WORKERS)
        cold = measure.calls_per_s(measure.cold(sandbox, job), effort.jobs // 4, WORKERS)
        plain_job = measure.unsandboxed(Path(folder), jobs.HUMAN_EVAL_SIZED)
        plain = measure.calls_per_s(plain_job, effort.jobs // 4, WORKERS)
    yield Measurement(
        "HumanEval-sized jobs, warm, 2 workers", f"{warm:.0f} /s", f"at least {JOBS_PER_S} /s", warm >= JOBS_PER_S
    )
    yield Measurement("over cold ones", f"{warm / cold:.1f}", f"at least {OVER_COLD}", warm / cold >= OVER_COLD)
    yield Measurement("over plain processes without isolation", f"{warm / plain:.1f}")


def suites(effort: SandboxEffort) -> Iterator[Measurement]:
    """Five pytest cases."""
    job = jobs.suite_job()
    with open_sandbox("bubblewrap", environment=measure.test_environment(), preload=SUITE_MODULES) as sandbox:

        def cold() -> None:
            report = run_suite(sandbox, job)
            assert report.passed, report

        def warm() -> None:
            (report,) = run_suites(sandbox, [job], workers=1)
            assert report.passed, report
            assert "warm" in report.isolation, report.isolation

        yield _ratio("a 5-test pytest suite", measure.in_turn(effort.rounds // 2, cold, warm), SUITE_SHARE)


def pandas_scripts(effort: SandboxEffort) -> Iterator[Measurement]:
    """A script that imports pandas."""
    job = jobs.pandas_job()
    environment = measure.environment_of("pandas")
    with open_sandbox("bubblewrap", environment=environment, preload=("pandas",)) as sandbox:
        times = measure.in_turn(effort.rounds // 2, measure.cold(sandbox, job), measure.warm(sandbox, job))
    yield _ratio("a pandas script", times, PANDAS_SHARE)


def verdicts_by_values(effort: SandboxEffort) -> Iterator[Measurement]:
    """The same problem as above, its check in a process of its own."""
    with open_sandbox("bubblewrap") as sandbox:

        def judge_all(count: int) -> None:
            for report in run_many(sandbox, (jobs.values_job() for _ in range(count)), workers=WORKERS):
                assert not isinstance(report, Exception), report
                assert report.passed, report

        judge_all(measure.WARM_UP)
        (took,) = measure.in_turn(2, lambda: judge_all(effort.jobs // 2))
    yield Measurement("verdicts by values, 2 workers", f"{effort.jobs // 2 / took:.0f} /s")


def long_run(effort: SandboxEffort) -> Iterator[Measurement]:
    """What the supervisor's memory does while very many small jobs pass."""
    early, late = measure.memory_over(effort.long_run, int(effort.long_run * EARLY), WORKERS)
    grown = f"{late - early:+.1f} MiB over {early:.0f} MiB"
    name = f"the supervisor's memory over {effort.long_run:,} jobs"
    yield Measurement(name, grown, f"flat (+ at most {LITTLE_MIB:g} MiB)", late - early <= LITTLE_MIB)


def _ratio(name: str, times: tuple[float, ...], target: float) -> Measurement:
    cold, warm = times
    text = f"{warm / cold:.2f} ({1000 * warm:.0f} ms over {1000 * cold:.0f} ms)"
    return Measurement(f"{name}, warm over cold", text, f"at most {target}", warm / cold <= target)
