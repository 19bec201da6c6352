"""Judges each canonical solution before the samples, to choose the method of judging and the time limits.

A problem whose canonical solution fails its own tests is reported before the run. Time limits follow the machine: on a
slow one, samples get more time.
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from flyteplugins_codegen.evaluation.journal import candidate_key
from flyteplugins_codegen.evaluation.judges import Judge, methods_for
from flyteplugins_codegen.evaluation.scores import ProblemFlaw
from flyteplugins_codegen.evaluation.trials import CandidateProgram, Verdict
from flyteplugins_codegen.evaluation.values import JudgedBy, Problem
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.contract import Limits

_CPU_FACTOR: Final = 10.0  # a sample may take this many times the processor time of the canonical solution
_WALL_FACTOR: Final = 3.0  # and this many times its own processor time on the clock: the machine has other users
_CANONICAL_FACTOR: Final = 10.0  # a canonical solution may take this many times a sample's limits
_REFERENCE_S: Final = 0.0024  # the time of the loop in `_loop_s` on the machine that limits are meant for
_LOOP_COUNT: Final = 40_000

RunAll: TypeAlias = Callable[[Iterator[CandidateProgram], Callable[[CandidateProgram, Verdict], None]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How the samples of one problem are judged, and within which limits.

    `passed` is the verdict on the canonical solution if it passed, otherwise `flaw` says why not; both are None for a
    problem without one.
    """

    judged_by: JudgedBy
    limits: Limits
    passed: Verdict | None = None
    flaw: ProblemFlaw | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPlan:
    """The problems of an evaluation and the digests of their verdicts, both by id; the limits of a sample."""

    problems: Mapping[str, Problem]
    keys: Mapping[str, bytes]
    judge: Judge
    limits: Limits
    slowness: float = 1.0
    sandbox: SandboxKind = "auto"

    def limits_of(self, problem: Problem) -> Limits:
        """The limits of one sample on this machine; processor time in whole seconds, the kernel's unit."""
        limits = problem.limits or self.limits
        cpu_s = None if limits.cpu_s is None else float(math.ceil(limits.cpu_s * self.slowness))
        return replace(limits, cpu_s=cpu_s, wall_s=limits.wall_s * self.slowness)


def measure_slowness() -> float:
    """How many times slower this machine is than the one that limits are meant for, at least 1."""
    return max(1.0, min(_loop_s() for _ in range(3)) / _REFERENCE_S)


def _loop_s() -> float:
    started = time.process_time()
    sum(number * number for number in range(_LOOP_COUNT))
    return time.process_time() - started


def calibrate(plan: EvaluationPlan, run_all: RunAll) -> dict[str, Calibration]:
    """Judge each canonical solution: by the safest method first, by the next one if it does not pass.

    A problem without a canonical solution is judged by the safest method.
    """
    methods = {task: methods_for(problem, plan.judge) for task, problem in plan.problems.items()}
    calibrations: dict[str, Calibration] = {}
    verdicts: dict[str, Verdict] = {}
    for turn in range(max(map(len, methods.values()), default=0)):
        remaining = [
            task
            for task in methods
            if task not in calibrations and turn < len(methods[task]) and plan.problems[task].canonical_solution
        ]

        def report(candidate: CandidateProgram, verdict: Verdict) -> None:
            task = candidate.problem.task_id
            verdicts.setdefault(task, verdict)
            if verdict.outcome == "passed":
                calibrations[task] = _calibration(plan, candidate, verdict)

        run_all(_canonical_candidates(plan, ((task, methods[task][turn]) for task in remaining)), report)
    return {
        task: calibrations.get(task) or _uncalibrated(plan, task, methods[task][0], verdicts.get(task))
        for task in methods
    }


def _canonical_candidates(plan: EvaluationPlan, tasks: Iterable[tuple[str, JudgedBy]]) -> Iterator[CandidateProgram]:
    """The canonical solutions. Their keys name the machine, because their times are what is measured."""
    machine = f"canonical solution on {platform.node()}, {os.cpu_count()} processors, {plan.sandbox}".encode()
    for task, method in tasks:
        problem, limits = plan.problems[task], plan.limits_of(plan.problems[task])
        program = problem.canonical_solution or ""
        yield CandidateProgram(
            key=candidate_key(plan.keys[task] + machine + method.encode(), program),
            problem=problem,
            program=program,
            judged_by=method,
            limits=_extended(limits, _CANONICAL_FACTOR * (limits.cpu_s or 0.0), _CANONICAL_FACTOR * limits.wall_s),
        )


def _calibration(plan: EvaluationPlan, candidate: CandidateProgram, verdict: Verdict) -> Calibration:
    cpu_s = _CPU_FACTOR * verdict.cpu_s
    wall_s = _WALL_FACTOR * _CPU_FACTOR * max(verdict.cpu_s, verdict.wall_s / _WALL_FACTOR)
    limits = _extended(plan.limits_of(candidate.problem), cpu_s, wall_s)
    return Calibration(judged_by=verdict.judged_by, limits=limits, passed=verdict)


def _extended(limits: Limits, cpu_s: float, wall_s: float) -> Limits:
    """The limits with at least this much time; processor time without a limit stays so."""
    return replace(
        limits,
        cpu_s=None if limits.cpu_s is None else float(math.ceil(max(limits.cpu_s, cpu_s))),
        wall_s=max(limits.wall_s, wall_s),
    )


def _uncalibrated(plan: EvaluationPlan, task: str, method: JudgedBy, verdict: Verdict | None) -> Calibration:
    """The calibration of a problem whose canonical solution did not pass (`verdict` says why), or that has none."""
    flaw = None
    if verdict is not None:
        reason = f"its canonical solution does not pass its tests ({verdict.outcome}): {verdict.reason}"
        flaw = ProblemFlaw(task, reason)
    return Calibration(judged_by=method, limits=plan.limits_of(plan.problems[task]), flaw=flaw)
