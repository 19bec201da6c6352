"""The canonical solution decides the method of judging; it and the speed of the machine decide the limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from flyteplugins_codegen.evaluation.calibration import Calibration, EvaluationPlan, calibrate, measure_slowness
from flyteplugins_codegen.evaluation.trials import CandidateProgram, Verdict
from flyteplugins_codegen.evaluation.values import CheckTests, JudgedBy, Outcome, PairTests, Problem
from flyteplugins_codegen.sandbox.contract import Limits

PROBLEM = Problem(task_id="p", entry_point="f", tests=CheckTests("def check(f): assert f()"), canonical_solution="...")
LIMITS = Limits(wall_s=30, cpu_s=5)


class Machine:
    """A judge with these outcomes by method, and this processor time."""

    def __init__(self, cpu_s: float = 0.1, **outcomes: Outcome) -> None:
        self._cpu_s, self._outcomes = cpu_s, outcomes
        self.asked: list[CandidateProgram] = []

    def run_all(
        self, candidates: Iterator[CandidateProgram], on_verdict: Callable[[CandidateProgram, Verdict], None]
    ) -> None:
        for candidate in candidates:
            self.asked.append(candidate)
            outcome = self._outcomes.get(candidate.judged_by, "passed")
            on_verdict(
                candidate, Verdict(outcome=outcome, judged_by=candidate.judged_by, cpu_s=self._cpu_s, wall_s=2.0)
            )


def calibrated(machine: Machine, problem: Problem = PROBLEM, slowness: float = 1.0) -> Calibration:
    problems = {"p": problem}
    plan = EvaluationPlan(problems=problems, keys={"p": b"key"}, judge="auto", limits=LIMITS, slowness=slowness)
    return calibrate(plan, machine.run_all)["p"]


@pytest.mark.parametrize(("canonical_s", "cpu_s"), [(0.1, 5), (3.0, 30), (0.5, 5), (0.72, 8)])
def test_a_sample_may_take_ten_times_as_long_as_the_canonical_solution(canonical_s: float, cpu_s: float) -> None:
    limits = calibrated(Machine(canonical_s)).limits
    assert limits.cpu_s == pytest.approx(cpu_s)
    assert limits.wall_s >= 3 * cpu_s


def test_a_slow_machine_gives_more_time() -> None:
    """By the same factor, so that the scores are the same on it."""
    limits = calibrated(Machine(), slowness=4.0).limits
    assert (limits.cpu_s, limits.wall_s) == (20, 120)
    assert calibrated(Machine(), replace(PROBLEM, limits=Limits(cpu_s=1, wall_s=2)), slowness=4.0).limits.cpu_s == 4
    assert measure_slowness() >= 1


def test_the_canonical_solution_itself_has_generous_limits() -> None:
    machine = Machine()
    calibrated(machine)
    assert [(each.limits.cpu_s, each.limits.wall_s) for each in machine.asked] == [(50, 300)]


@pytest.mark.parametrize(
    ("values", "suite", "judged_by", "is_flawed"),
    [
        ("passed", "passed", "values", False),
        ("wrong_answer", "passed", "suite", False),
        ("wrong_answer", "wrong_answer", "values", True),
        ("infrastructure", "infrastructure", "values", True),
    ],
)
def test_the_first_way_that_the_canonical_solution_passes_in_is_taken(
    values: Outcome, suite: Outcome, judged_by: JudgedBy, *, is_flawed: bool
) -> None:
    limits = calibrated(Machine(values=values, suite=suite))
    assert (limits.judged_by, limits.flaw is not None, limits.passed is None) == (judged_by, is_flawed, is_flawed)


def test_without_a_canonical_solution_nothing_is_run_ahead() -> None:
    machine = Machine()
    limits = calibrated(machine, Problem(task_id="p", entry_point="f", tests=PairTests(())))
    assert (limits.judged_by, limits.flaw, machine.asked) == ("values", None, [])
    assert limits.limits.cpu_s == 5
