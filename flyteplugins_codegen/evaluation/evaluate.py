"""One evaluation from its request to its scores."""

from __future__ import annotations

import logging
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final, TextIO, TypeAlias, get_args

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.calibration import Calibration, Plan, RunAll, calibrate, measure_slowness
from flyteplugins_codegen.evaluation.evaluation import Evaluation, summarize
from flyteplugins_codegen.evaluation.journal import Journals, candidate_key, open_journals, problem_key
from flyteplugins_codegen.evaluation.judges import Judge, check_entry_point, check_tests
from flyteplugins_codegen.evaluation.samples import Samples, program_of
from flyteplugins_codegen.evaluation.scores import check_k
from flyteplugins_codegen.evaluation.trials import Candidate, Verdict
from flyteplugins_codegen.evaluation.values import AssertTests, CheckTests, Problem, Sample, SampleResult
from flyteplugins_codegen.evaluation.workers import OpenedSandboxes, Queue, packages_of, run_trials
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.sync import BoundMethod, in_daemon_thread

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from flyteplugins_codegen.evaluation.values import Outcome

# How far an evaluation is: one line on a terminal, redrawn; nothing where nobody watches.


class Progress:
    """Counts what has ended. One thread at a time; `bar` draws it, where there is one."""

    def __init__(self, bar: Bar | None = None) -> None:
        self._bar = bar
        self._task: TaskID | None = None
        self._counts = Counter[str]()

    def begin(self, what: str, total: int | None) -> None:
        """Begin to count; `total` is None where nobody knows how many there will be."""
        self._counts.clear()
        if self._bar is not None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(what, total=total, ends="")

    def note(self, outcome: Outcome) -> None:
        """Count one more."""
        self._counts[outcome] += 1
        if self._bar is not None and self._task is not None:
            ends = ", ".join(f"{count} {name}" for name, count in self._counts.most_common())
            self._bar.update(self._task, advance=1, ends=ends)


@contextmanager
def open_progress(stream: TextIO | None = None) -> Iterator[Progress]:
    """Progress on `stream`, by default stderr, while the body runs."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, TextColumn("{task.fields[ends]}"), console=Console(file=stream), transient=True) as bar:
        yield Progress(bar)


# What an evaluation is asked for, checked before anything runs.

DEFAULT_LIMITS: Final = Limits(
    wall_s=30.0, cpu_s=5.0, memory_mib=1024, processes=64, output_mib=64, file_mib=64, stream_kib=256
)
"""Of one sample, with its judge; times are for a usual machine, and extended on a slow one."""

_LEAST_MEMORY_MIB: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """All but the samples. Raises RequestError for what cannot be."""

    problems: tuple[Problem, ...]
    k: tuple[int, ...]
    workers: int
    limits: Limits
    judge: Judge
    journal: Path | None
    packages: tuple[str, ...]
    sandbox: SandboxKind

    def __post_init__(self) -> None:
        check_k(self.k)
        if self.judge not in get_args(Judge):
            raise RequestError(f"judge={self.judge!r} is no way to judge; give one of {', '.join(get_args(Judge))}")
        if type(self.workers) is not int or self.workers < 1:
            raise RequestError(f"workers={self.workers!r} run nothing; give a whole number from 1, or None")
        check_problems(self.problems)
        _check_limits(self.limits, "limits")
        for problem in self.problems:
            if problem.limits is not None:
                _check_limits(problem.limits, f"the limits of problem {problem.task_id!r}")


def default_workers() -> int:
    """One for each processor that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_problems(problems: Sequence[Problem]) -> None:
    """Raise RequestError for none, for two of one name, and for one that cannot be judged."""
    if not problems:
        raise RequestError("there are no problems to evaluate on; load some by load_problems(...)")
    seen = set[str]()
    for problem in problems:
        if problem.task_id in seen:
            raise RequestError(f"two problems have the task_id {problem.task_id!r}; give each a name of its own")
        seen.add(problem.task_id)
        check_entry_point(problem)
        if problem.canonical_solution is None or not isinstance(problem.tests, CheckTests | AssertTests):
            check_tests(problem)  # the canonical solution would tell of them too, and long tests take long to read


def _check_limits(limits: Limits, whose: str) -> None:
    for each in fields(limits):
        value = getattr(limits, each.name)
        if value is not None and not (math.isfinite(value) and value > 0):
            raise RequestError(f"{whose}: {each.name}={value!r} is no limit; give a number above 0")
    if limits.memory_mib < _LEAST_MEMORY_MIB:
        told = f"{limits.memory_mib} MiB are less than an interpreter needs; give at least {_LEAST_MEMORY_MIB}"
        raise RequestError(f"{whose}: memory_mib: {told}")


Tell: TypeAlias = Callable[[Candidate, Verdict], None]
_log: Final = logging.getLogger(__name__)


def run(request: Request, samples: Iterable[Sample], stop: Event) -> Evaluation:
    """Judge the samples and score them; see `evaluate`."""
    with ExitStack() as stack:
        of_canonical, of_samples = stack.enter_context(open_journals(request.journal))
        packages = packages_of(request.problems, request.packages)
        sandboxes = stack.enter_context(closing(OpenedSandboxes(request.sandbox, packages)))
        progress = stack.enter_context(open_progress())

        def run_all(journals: Journals, count: int | None, candidates: Iterator[Candidate], told: Tell) -> None:
            queue = Queue(candidates, journals, told, count=count, workers=request.workers)
            run_trials(sandboxes, queue, workers=request.workers, stop=stop)

        plan = _plan(request, packages.requirements)
        progress.begin("canonical solutions", len(request.problems))
        calibrations = calibrate(plan, _noting(progress, partial(run_all, of_canonical, len(request.problems))))
        for found in calibrations.values():
            if found.flaw:
                _log.warning("problem %r is in doubt: %s", found.flaw.task_id, found.flaw.reason)
        count = len(samples) if isinstance(samples, Sized) else None
        progress.begin("samples", count)
        drawing = _Drawing(plan, calibrations, samples, progress)
        run_all(of_samples, count, drawing.candidates(), drawing.tell)
        return _summary(request, drawing, calibrations)


def _noting(progress: Progress, run_all: RunAll) -> RunAll:
    def run(candidates: Iterator[Candidate], told: Tell) -> None:
        def noted(candidate: Candidate, verdict: Verdict) -> None:
            told(candidate, verdict)
            progress.note(verdict.outcome)

        run_all(candidates, noted)

    return run


def _plan(request: Request, packages: tuple[str, ...]) -> Plan:
    keys = {
        problem.task_id: problem_key(problem, judge=request.judge, limits=request.limits, packages=packages)
        for problem in request.problems
    }
    return Plan(
        problems={problem.task_id: problem for problem in request.problems},
        keys=keys,
        judge=request.judge,
        limits=request.limits,
        slowness=measure_slowness(),
        sandbox=request.sandbox,
    )


def _summary(request: Request, drawing: _Drawing, calibrations: dict[str, Calibration]) -> Evaluation:
    if not drawing.ends:
        raise RequestError("there are no samples to evaluate; give at least one for a problem")
    answered = {end.task_id for end in drawing.ends.values()}
    return summarize(
        [drawing.ends[index] for index in sorted(drawing.ends)],
        request.k,
        categories={problem.task_id: problem.category for problem in request.problems},
        flaws=[found.flaw for found in calibrations.values() if found.flaw],
        unanswered=[problem.task_id for problem in request.problems if problem.task_id not in answered],
        skipped=drawing.samples.skipped if isinstance(drawing.samples, Samples) else (),
    )


@dataclass(slots=True)
class _Drawing:
    """Draws samples one by one, and notes how each ends; of their texts nothing is kept."""

    plan: Plan
    calibrations: dict[str, Calibration]
    samples: Iterable[Sample]
    progress: Progress
    ends: dict[int, SampleResult] = field(default_factory=dict)
    _first: dict[bytes, int] = field(default_factory=dict)
    _alike: dict[bytes, list[tuple[int, str]]] = field(default_factory=dict)
    _ids: dict[bytes, tuple[int, str]] = field(default_factory=dict)

    def candidates(self) -> Iterator[Candidate]:
        """Every sample that is not like one before it. Raises RequestError for one of no known problem."""
        for index, sample in enumerate(self.samples):
            problem = self._problem(sample)
            program = program_of(problem, sample)
            key = candidate_key(self.plan.keys[problem.task_id], program)
            first = self._first.setdefault(key, index)
            if first in self.ends:
                self._end(replace(self.ends[first], index=index, sample_id=sample.sample_id))
            elif first != index:
                self._alike.setdefault(key, []).append((index, sample.sample_id))
            else:
                self._ids[key] = index, sample.sample_id
                yield from self._unless_known(key, problem, program)

    def _unless_known(self, key: bytes, problem: Problem, program: str) -> Iterator[Candidate]:
        """The candidate, unless it is the canonical solution, whose verdict is there."""
        calibration = self.calibrations[problem.task_id]
        candidate = Candidate(
            key=key,
            problem=problem,
            program=program,
            judged_by=calibration.judged_by,
            limits=calibration.limits,
            expected_s=calibration.passed.cpu_s if calibration.passed else 0.0,
        )
        if calibration.passed and program == problem.canonical_solution:
            self.tell(candidate, calibration.passed)
        else:
            yield candidate

    def tell(self, candidate: Candidate, verdict: Verdict) -> None:
        """Note how a sample ended, and those that are like it."""
        for index, sample_id in (self._ids.pop(candidate.key), *self._alike.pop(candidate.key, ())):
            end = SampleResult(
                task_id=candidate.problem.task_id,
                index=index,
                sample_id=sample_id,
                outcome=verdict.outcome,
                reason=verdict.reason,
                judged_by=verdict.judged_by,
                cpu_s=verdict.cpu_s,
                wall_s=verdict.wall_s,
                attempts=verdict.attempts,
            )
            self._end(end)

    def _end(self, end: SampleResult) -> None:
        self.ends[end.index] = end
        self.progress.note(end.outcome)

    def _problem(self, sample: Sample) -> Problem:
        problem = self.plan.problems.get(sample.task_id)
        if problem is None:
            raise RequestError(f"{sample.place} is for none of the problems; leave it out, or give its problem")
        return problem


# `evaluate`: samples of solutions held against the tests of their problems, each in isolation, and counted.


async def _evaluate(  # noqa: PLR0913, PLR0917 - the signature that users are promised
    problems: Iterable[Problem],
    samples: Iterable[Sample],
    k: int | Sequence[int] = (1, 10, 100),
    workers: int | None = None,
    limits: Limits | None = None,
    judge: Judge = "auto",
    journal: str | Path | None = None,
    *,
    packages: Sequence[str] = (),
    sandbox: SandboxKind = "auto",
) -> Evaluation:
    """Judge every sample by its problem's tests, in a sandbox, and score them.

    Samples are drawn as they are needed, and equal ones are run once. `workers` run at a time, by default one for each
    processor. `limits` are of one sample (by default `request.DEFAULT_LIMITS`), by processor time with a ceiling on the
    clock; both are extended where the canonical solution takes long, or the machine is slow. `judge` is how: `values`
    compares plain data in another process, `suite` counts tests in the candidate's own, `auto` takes the first that the
    canonical solution passes in. `journal` names a file that keeps each verdict: run again with it, only what is
    missing runs. `packages` are installed for the samples beside what the tests import.

    A problem whose canonical solution fails its own tests is told before the run, and in `Evaluation.flaws`. A sample
    that the machine failed three times is reported as `infrastructure`, and not counted.

    Raises:
        RequestError: no problems or samples, an id that is not unique or not known, or a k, limits, workers or a judge
            that cannot be.
        SandboxUnavailableError: this machine offers no isolation.
        EnvironmentBuildError: the packages cannot be installed.
    """
    request = Request(
        problems=tuple(problems),
        k=(k,) if isinstance(k, int) else tuple(k),
        workers=default_workers() if workers is None else workers,
        limits=limits or DEFAULT_LIMITS,
        judge=judge,
        journal=Path(journal) if journal is not None else None,
        packages=tuple(packages),
        sandbox=sandbox,
    )
    stop = Event()
    try:
        return await in_daemon_thread(run, request, samples, stop)
    finally:
        stop.set()  # who is interrupted waits no longer, and nothing new begins


evaluate = BoundMethod(_evaluate)
"""`evaluate(...)` blocks, `await evaluate.aio(...)` does not."""
