"""One evaluation from its request to its scores."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event
from typing import Final, TypeAlias

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.calibration import Calibration, Plan, RunAll, calibrate, measure_slowness
from flyteplugins_codegen.evaluation.evaluation import Evaluation, summarize
from flyteplugins_codegen.evaluation.journal import Journals, open_journals
from flyteplugins_codegen.evaluation.judging.trials import Candidate, Verdict
from flyteplugins_codegen.evaluation.keys import candidate_key, problem_key
from flyteplugins_codegen.evaluation.merging import program_of
from flyteplugins_codegen.evaluation.progress import Progress, open_progress
from flyteplugins_codegen.evaluation.queue import Queue
from flyteplugins_codegen.evaluation.request import Request
from flyteplugins_codegen.evaluation.samples.loading import Samples
from flyteplugins_codegen.evaluation.sandboxes import OpenedSandboxes, packages_of
from flyteplugins_codegen.evaluation.values import Problem, Sample, SampleResult
from flyteplugins_codegen.evaluation.workers import run_trials

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
