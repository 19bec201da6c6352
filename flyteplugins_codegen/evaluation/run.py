"""`evaluate`: judges samples by the tests of their problems, each in isolation, and scores them.

The request is checked first; then the canonical solutions are judged, then the samples. A terminal shows the progress.
"""

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
from flyteplugins_codegen.evaluation.calibration import Calibration, EvaluationPlan, RunAll, calibrate, measure_slowness
from flyteplugins_codegen.evaluation.evaluation import Evaluation, summarize
from flyteplugins_codegen.evaluation.journal import Journals, candidate_key, open_journals, problem_key
from flyteplugins_codegen.evaluation.judges import Judge, check_entry_point, check_tests
from flyteplugins_codegen.evaluation.samples import Samples, program_of
from flyteplugins_codegen.evaluation.scores import check_k
from flyteplugins_codegen.evaluation.trials import CandidateProgram, Verdict
from flyteplugins_codegen.evaluation.values import AssertTests, CheckTests, Problem, Sample, SampleResult
from flyteplugins_codegen.evaluation.workers import OpenedSandboxes, TrialQueue, packages_of, run_trials
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.sync import BoundMethod, in_daemon_thread

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from flyteplugins_codegen.evaluation.values import Outcome

DEFAULT_LIMITS: Final = Limits(
    wall_s=30.0, cpu_s=5.0, memory_mib=1024, processes=64, output_mib=64, file_mib=64, stream_kib=256
)
"""The limits of one sample together with its judge. Times are for a usual machine, and extended on a slow one."""

OnVerdict: TypeAlias = Callable[[CandidateProgram, Verdict], None]
_LEAST_MEMORY_MIB: Final = 32
_log: Final = logging.getLogger(__name__)

# --- progress ---


class Progress:
    """Counts outcomes, and draws them on `bar` if there is one. Not safe to use from two threads at once."""

    def __init__(self, bar: Bar | None = None) -> None:
        self._bar = bar
        self._task: TaskID | None = None
        self._counts = Counter[str]()

    def begin(self, description: str, total: int | None) -> None:
        """Start to count from 0, of `total`; None if the total is unknown."""
        self._counts.clear()
        if self._bar is not None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(description, total=total, ends="")

    def note(self, outcome: Outcome) -> None:
        """Count one outcome."""
        self._counts[outcome] += 1
        if self._bar is not None and self._task is not None:
            ends = ", ".join(f"{count} {name}" for name, count in self._counts.most_common())
            self._bar.update(self._task, advance=1, ends=ends)


@contextmanager
def open_progress(stream: TextIO | None = None) -> Iterator[Progress]:
    """Progress as one line on `stream` (default: stderr) while the body runs; nothing unless it is a terminal."""
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


# --- the request ---


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """The arguments of `evaluate` but for the samples. Raises RequestError for values that are not valid."""

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
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_problems(problems: Sequence[Problem]) -> None:
    """Raise RequestError for no problems, for two with one id, and for one that cannot be judged."""
    if not problems:
        raise RequestError("there are no problems to evaluate on; load some by load_problems(...)")
    seen = set[str]()
    for problem in problems:
        if problem.task_id in seen:
            raise RequestError(f"two problems have the task_id {problem.task_id!r}; give each a name of its own")
        seen.add(problem.task_id)
        check_entry_point(problem)
        if problem.canonical_solution is None or not isinstance(problem.tests, CheckTests | AssertTests):
            check_tests(problem)  # else left out: long tests are slow to read, and the canonical solution finds flaws


def _check_limits(limits: Limits, whose: str) -> None:
    for limit in fields(limits):
        value = getattr(limits, limit.name)
        if value is not None and not (math.isfinite(value) and value > 0):
            raise RequestError(f"{whose}: {limit.name}={value!r} is no limit; give a number above 0")
    if limits.memory_mib < _LEAST_MEMORY_MIB:
        message = f"{limits.memory_mib} MiB are less than an interpreter needs; give at least {_LEAST_MEMORY_MIB}"
        raise RequestError(f"{whose}: memory_mib: {message}")


# --- the run ---


def run_evaluation(request: EvaluationRequest, samples: Iterable[Sample], stop: Event) -> Evaluation:
    """Judge the samples and score them; see `evaluate`. No new sample begins once `stop` is set."""
    with ExitStack() as stack:
        canonical_journals, sample_journals = stack.enter_context(open_journals(request.journal))
        packages = packages_of(request.problems, request.packages)
        sandboxes = stack.enter_context(closing(OpenedSandboxes(request.sandbox, packages)))
        progress = stack.enter_context(open_progress())

        def run_all(
            journals: Journals, count: int | None, candidates: Iterator[CandidateProgram], on_verdict: OnVerdict
        ) -> None:
            queue = TrialQueue(candidates, journals, on_verdict, count=count, workers=request.workers)
            run_trials(sandboxes, queue, workers=request.workers, stop=stop)

        plan = _plan(request, packages.requirements)
        progress.begin("canonical solutions", len(request.problems))
        run_canonical = partial(run_all, canonical_journals, len(request.problems))
        calibrations = calibrate(plan, _with_progress(progress, run_canonical))
        for calibration in calibrations.values():
            if calibration.flaw:
                _log.warning("problem %r is in doubt: %s", calibration.flaw.task_id, calibration.flaw.reason)
        count = len(samples) if isinstance(samples, Sized) else None
        progress.begin("samples", count)
        sample_run = _SampleRun(plan, calibrations, samples, progress)
        run_all(sample_journals, count, sample_run.candidates(), sample_run.record)
        return _evaluation(request, sample_run, calibrations)


def _with_progress(progress: Progress, run_all: RunAll) -> RunAll:
    def run(candidates: Iterator[CandidateProgram], on_verdict: OnVerdict) -> None:
        def count(candidate: CandidateProgram, verdict: Verdict) -> None:
            on_verdict(candidate, verdict)
            progress.note(verdict.outcome)

        run_all(candidates, count)

    return run


def _plan(request: EvaluationRequest, packages: tuple[str, ...]) -> EvaluationPlan:
    keys = {
        problem.task_id: problem_key(problem, judge=request.judge, limits=request.limits, packages=packages)
        for problem in request.problems
    }
    return EvaluationPlan(
        problems={problem.task_id: problem for problem in request.problems},
        keys=keys,
        judge=request.judge,
        limits=request.limits,
        slowness=measure_slowness(),
        sandbox=request.sandbox,
    )


def _evaluation(request: EvaluationRequest, sample_run: _SampleRun, calibrations: dict[str, Calibration]) -> Evaluation:
    results, samples = sample_run.results, sample_run.samples
    if not results:
        raise RequestError("there are no samples to evaluate; give at least one for a problem")
    answered = {result.task_id for result in results.values()}
    return summarize(
        [results[index] for index in sorted(results)],
        request.k,
        categories={problem.task_id: problem.category for problem in request.problems},
        flaws=[calibration.flaw for calibration in calibrations.values() if calibration.flaw],
        unanswered=[problem.task_id for problem in request.problems if problem.task_id not in answered],
        skipped=samples.skipped if isinstance(samples, Samples) else (),
    )


@dataclass(slots=True)
class _SampleRun:
    """Makes a candidate of each different sample, and records the results by index; no sample's text is kept.

    A sample that makes the same program as an earlier one is not run: it gets the same verdict.
    """

    plan: EvaluationPlan
    calibrations: dict[str, Calibration]
    samples: Iterable[Sample]
    progress: Progress
    results: dict[int, SampleResult] = field(default_factory=dict)
    _first: dict[bytes, int] = field(default_factory=dict)
    _waiting: dict[bytes, list[tuple[int, str]]] = field(default_factory=dict)

    def candidates(self) -> Iterator[CandidateProgram]:
        """The candidates to run. Raises RequestError for a sample of an unknown problem."""
        for index, sample in enumerate(self.samples):
            problem = self._problem(sample)
            program = program_of(problem, sample)
            key = candidate_key(self.plan.keys[problem.task_id], program)
            first = self._first.setdefault(key, index)
            if first in self.results:
                self._add(replace(self.results[first], index=index, sample_id=sample.sample_id))
                continue
            self._waiting.setdefault(key, []).append((index, sample.sample_id))
            if first == index:
                yield from self._unless_known(key, problem, program)

    def _unless_known(self, key: bytes, problem: Problem, program: str) -> Iterator[CandidateProgram]:
        """The candidate, unless it is the canonical solution, whose verdict is known."""
        calibration = self.calibrations[problem.task_id]
        candidate = CandidateProgram(
            key=key,
            problem=problem,
            program=program,
            judged_by=calibration.judged_by,
            limits=calibration.limits,
            expected_s=calibration.passed.cpu_s if calibration.passed else 0.0,
        )
        if calibration.passed and program == problem.canonical_solution:
            self.record(candidate, calibration.passed)
        else:
            yield candidate

    def record(self, candidate: CandidateProgram, verdict: Verdict) -> None:
        """Record the result of each sample that makes this candidate's program."""
        for index, sample_id in self._waiting.pop(candidate.key):
            result = SampleResult(
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
            self._add(result)

    def _add(self, result: SampleResult) -> None:
        self.results[result.index] = result
        self.progress.note(result.outcome)

    def _problem(self, sample: Sample) -> Problem:
        problem = self.plan.problems.get(sample.task_id)
        if problem is None:
            raise RequestError(f"{sample.place} is for none of the problems; leave it out, or give its problem")
        return problem


# --- the public function ---


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

    Samples are read as they are needed, and equal ones are run once. `workers` run at a time, by default one for each
    processor. `limits` are for one sample (default: `DEFAULT_LIMITS`): processor time, with a ceiling on wall time;
    both are extended if the canonical solution is slow, or the machine is. `judge` is the method: `values` compares
    plain data in another process, `suite` counts tests in the candidate's own process, `auto` takes the first that the
    canonical solution passes. `journal` names a file that keeps each verdict: a second run with it runs only what is
    missing. `packages` are installed for the samples beside what the tests import.

    A problem whose canonical solution fails its own tests is reported before the run, and in `Evaluation.flaws`. A
    sample for which the machine failed three times is reported as `infrastructure`, and not counted.

    Raises:
        RequestError: no problems or samples; an id that is unknown or not unique; a value of k, limits, workers or
            judge that is not valid.
        SandboxUnavailableError: this machine offers no isolation.
        EnvironmentBuildError: the packages cannot be installed.
    """
    request = EvaluationRequest(
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
        return await in_daemon_thread(run_evaluation, request, samples, stop)
    finally:
        stop.set()  # after an interrupt too: no new sample begins


evaluate = BoundMethod(_evaluate)
"""`evaluate(...)` blocks, `await evaluate.aio(...)` does not."""
