"""A failure of the machine is not a verdict: the sample is tried again, then reported, and never counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from forged_values import CHECK, RIGHT

from flyteplugins_codegen.evaluation import workers
from flyteplugins_codegen.evaluation.run import evaluate
from flyteplugins_codegen.evaluation.values import CheckTests, Problem, PytestTests, Sample, StdinPair, StdinTests
from flyteplugins_codegen.sandbox.contract import Execution, Job, Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox

PROBLEMS = (
    Problem(task_id="values", entry_point="f", tests=CheckTests(CHECK)),
    Problem(task_id="suite", tests=PytestTests("from solution import f\ndef test_it(): assert f(3) == 6\n")),
    Problem(task_id="output", tests=StdinTests((StdinPair("3", "6"), StdinPair("4", "8")))),
)
PROGRAM = f"{RIGHT}if __name__ == '__main__': print(f(int(input())))\n"
SAMPLES = [
    Sample(task_id=problem.task_id, solution=f"{PROGRAM}# {number}\n") for problem in PROBLEMS for number in "ab"
]
FAILURE = Execution(status="sandbox_error", message="no space left on device")


class Failing:
    """A sandbox whose machine fails the first runs of every program."""

    kind = "bubblewrap"

    def __init__(self, real: Sandbox, failures: int) -> None:
        self._real, self._failures = real, failures
        self._runs = 0

    def run(self, job: Job) -> Execution:
        self._runs += 1
        return FAILURE if self._runs <= self._failures else self._real.run(job)

    def map(self, jobs: Iterable[Job], *, on_result: Callable[[int, Execution], None], **_: Any) -> list[Execution]:
        return [self._report(index, job, on_result) for index, job in enumerate(jobs)]

    def _report(self, index: int, job: Job, on_result: Callable[[int, Execution], None]) -> Execution:
        execution = self.run(job)
        on_result(index, execution)
        return execution

    def close(self) -> None:
        self._real.close()


def machine_failing(monkeypatch: pytest.MonkeyPatch, failures: int) -> None:
    @contextmanager
    def open_failing(*args: Any, **options: Any) -> Iterator[Failing]:
        with open_sandbox(*args, **options) as real:
            yield Failing(real, failures)

    monkeypatch.setattr(workers, "open_sandbox", open_failing)


def test_what_is_lost_once_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_failing(monkeypatch, failures=1)
    found = evaluate(PROBLEMS, SAMPLES, (1, 2), workers=1)
    assert found.pass_at_k == {1: 1.0, 2: 1.0}
    assert [end.attempts for end in found.samples] == [2, 2, 2, 1, 1, 1]  # both by values were in the job that was lost


def test_a_sample_that_the_machine_always_fails_is_reported_and_neither_counted_nor_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    journal = tmp_path / "journal.jsonl"
    machine_failing(monkeypatch, failures=10**9)
    found = evaluate(PROBLEMS, SAMPLES, (1,), workers=2, journal=journal)
    assert {(end.outcome, end.attempts) for end in found.samples} == {("infrastructure", 3)}
    assert all("no space left on device" in end.reason for end in found.samples)
    assert math.isnan(found.pass_at_k[1])
    monkeypatch.undo()
    assert evaluate(PROBLEMS, SAMPLES, (1,), journal=journal).pass_at_k == {1: 1.0}
