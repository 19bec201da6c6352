"""Many jobs over a few threads; here a plain function runs them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from flyteplugins_codegen.sandbox import Execution, Job
from flyteplugins_codegen.sandbox.pool import run_all


def numbered(count: int, drawn: list[int]) -> Iterator[Job]:
    for number in range(count):
        drawn.append(number)
        yield Job(command=(str(number),))


def answer(job: Job) -> Execution:
    return Execution(status="exited", stdout=job.command[0].encode())


def test_results_are_in_the_order_of_the_jobs_whichever_ends_first():
    def slow_if_even(job: Job) -> Execution:
        time.sleep(0.02 * (int(job.command[0]) % 2 == 0))
        return answer(job)

    executions = run_all(slow_if_even, numbered(9, []), workers=3, on_result=None)
    assert [execution.stdout for execution in executions] == [str(number).encode() for number in range(9)]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_no_job_is_drawn_before_a_worker_is_free_for_it(workers):
    drawn, ahead = [], []
    run_all(answer, numbered(50, drawn), workers=workers, on_result=lambda *_: ahead.append(len(drawn) - len(ahead)))
    assert len(ahead) == 50
    assert max(ahead) <= workers


def test_results_are_reported_one_at_a_time():
    reporting, at_once = [], []

    def report(index: int, _: Execution) -> None:
        reporting.append(index)
        time.sleep(0.001)
        at_once.append(len(reporting))
        reporting.clear()

    run_all(answer, numbered(40, []), workers=4, on_result=report)
    assert set(at_once) == {1}


def test_workers_run_at_the_same_time():
    meeting = threading.Barrier(3)

    def meet(job: Job) -> Execution:
        meeting.wait(timeout=10)
        return answer(job)

    assert len(run_all(meet, numbered(3, []), workers=3, on_result=None)) == 3


@pytest.mark.parametrize("failing", ["run", "on_result"])
def test_an_error_ends_the_run_and_no_other_job_is_drawn(failing):
    drawn, reported = [], []

    def fail(*_: object) -> None:
        raise ValueError("on purpose")

    def run(job: Job) -> Execution:
        return fail() if failing == "run" and job.command[0] == "2" else answer(job)

    def report(index: int, _: Execution) -> None:
        reported.append(index)
        if failing == "on_result" and index == 2:
            fail()

    with pytest.raises(ValueError, match="on purpose"):
        run_all(run, numbered(100, drawn), workers=2, on_result=report)
    assert 3 <= len(drawn) <= 6
    assert set(reported) <= set(drawn)
