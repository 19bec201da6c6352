"""What is known of each problem before its samples are judged: how its tests are judged, and how long a solution takes.

The canonical solution of each problem is judged first. So a test that fails on it is known before the run, and limits
follow the machine: a slow one gives every sample the more time.
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from flyteplugins_codegen.evaluation.journal import candidate_key
from flyteplugins_codegen.evaluation.judges import Judge, ways_of
from flyteplugins_codegen.evaluation.scores import Flaw
from flyteplugins_codegen.evaluation.trials import Candidate, Verdict
from flyteplugins_codegen.evaluation.values import JudgedBy, Problem
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.contract import Limits

_CANONICAL_TIMES: Final = 10.0  # a sample may take so many times the processor time of the canonical solution
_WALL_TIMES: Final = 3.0  # and so many times that on the clock: others use the machine too
_GENEROUS: Final = 10.0  # the canonical solution's own limits, in those of a sample
_REFERENCE_S: Final = 0.0024  # what the loop below takes on the machine that limits are meant for
_LOOP: Final = 40_000

RunAll: TypeAlias = Callable[[Iterator[Candidate], Callable[[Candidate, Verdict], None]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How one problem's samples are judged, within which limits, and what became of the canonical solution.

    `passed` is the verdict on it where that passed, else `flaw` says why not; a problem without one has neither.
    """

    judged_by: JudgedBy
    limits: Limits
    passed: Verdict | None = None
    flaw: Flaw | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an evaluation is to do: problems by their id, with what their verdicts depend on, and limits of a sample."""

    problems: Mapping[str, Problem]
    keys: Mapping[str, bytes]
    judge: Judge
    limits: Limits
    slowness: float = field(default=1.0)
    sandbox: SandboxKind = "auto"

    def limits_of(self, problem: Problem) -> Limits:
        """Those of one sample, for this machine; processor time in whole seconds, as each process is held to it."""
        limits = problem.limits or self.limits
        cpu_s = None if limits.cpu_s is None else float(math.ceil(limits.cpu_s * self.slowness))
        return replace(limits, cpu_s=cpu_s, wall_s=limits.wall_s * self.slowness)


def measure_slowness() -> float:
    """How many times slower than the machine that limits are meant for this one is, at least 1."""
    return max(1.0, min(_loop_s() for _ in range(3)) / _REFERENCE_S)


def _loop_s() -> float:
    started = time.process_time()
    sum(number * number for number in range(_LOOP))
    return time.process_time() - started


def calibrate(plan: Plan, run_all: RunAll) -> dict[str, Calibration]:
    """Judge each canonical solution: in the safest way first, in the next where it does not pass in that.

    A problem without one is taken at its word, and judged in the safest way.
    """
    ways = {task: ways_of(problem, plan.judge) for task, problem in plan.problems.items()}
    found: dict[str, Calibration] = {}
    verdicts: dict[str, Verdict] = {}
    for turn in range(max(map(len, ways.values()), default=0)):
        left = [task for task in ways if task not in found and turn < len(ways[task]) and _canonical(plan, task)]

        def told(candidate: Candidate, verdict: Verdict) -> None:
            task = candidate.problem.task_id
            verdicts.setdefault(task, verdict)
            if verdict.outcome == "passed":
                found[task] = _calibration(plan, candidate, verdict)

        run_all(_candidates(plan, ((task, ways[task][turn]) for task in left)), told)
    return {task: found.get(task) or _in_doubt(plan, task, ways[task][0], verdicts.get(task)) for task in ways}


def _canonical(plan: Plan, task: str) -> str | None:
    return plan.problems[task].canonical_solution


def _candidates(plan: Plan, tasks: Iterable[tuple[str, JudgedBy]]) -> Iterator[Candidate]:
    """Canonical solutions. What is known of one is of this machine only: its time is what is wanted."""
    machine = f"canonical solution on {platform.node()}, {os.cpu_count()} processors, {plan.sandbox}".encode()
    for task, way in tasks:
        problem, limits = plan.problems[task], plan.limits_of(plan.problems[task])
        program = problem.canonical_solution or ""
        yield Candidate(
            key=candidate_key(plan.keys[task] + machine + way.encode(), program),
            problem=problem,
            program=program,
            judged_by=way,
            limits=_extended(limits, _GENEROUS * (limits.cpu_s or 0.0), _GENEROUS * limits.wall_s),
        )


def _calibration(plan: Plan, candidate: Candidate, verdict: Verdict) -> Calibration:
    cpu_s = _CANONICAL_TIMES * verdict.cpu_s
    wall_s = _WALL_TIMES * _CANONICAL_TIMES * max(verdict.cpu_s, verdict.wall_s / _WALL_TIMES)
    limits = _extended(plan.limits_of(candidate.problem), cpu_s, wall_s)
    return Calibration(judged_by=verdict.judged_by, limits=limits, passed=verdict)


def _extended(limits: Limits, cpu_s: float, wall_s: float) -> Limits:
    """The limits, with at least this much time where there is a limit at all."""
    return replace(
        limits,
        cpu_s=None if limits.cpu_s is None else float(math.ceil(max(limits.cpu_s, cpu_s))),
        wall_s=max(limits.wall_s, wall_s),
    )


def _in_doubt(plan: Plan, task: str, way: JudgedBy, verdict: Verdict | None) -> Calibration:
    """A problem whose canonical solution did not pass, or that has none."""
    flaw = None
    if verdict is not None:
        flaw = Flaw(task, f"its canonical solution does not pass its tests ({verdict.outcome}): {verdict.reason}")
    return Calibration(judged_by=way, limits=plan.limits_of(plan.problems[task]), flaw=flaw)
