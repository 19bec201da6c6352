"""Runs trials in sandboxes, several at a time: what is lost by the machine is tried again, what is settled is told."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event, Lock
from typing import Final, Protocol

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.evaluation.judging.trials import (
    MOST_ATTEMPTS,
    Candidate,
    Settled,
    Trial,
    Verdict,
    machine_failed,
)
from flyteplugins_codegen.evaluation.values import JudgedBy
from flyteplugins_codegen.sandbox.contract import Execution, Job, Sandbox

_JOBS_IN_A_ROW: Final = 64  # a sandbox keeps the results of one `map` until it ends


class Sandboxes(Protocol):
    """The sandboxes of one evaluation, each opened when it is first needed."""

    def get(self, judged_by: JudgedBy) -> Sandbox:
        """The one in which this way of judging finds what it needs."""


class Source(Protocol):
    """Where trials come from, and verdicts go."""

    def draw(self) -> Trial | None:
        """The next; None where there is no other. One thread at a time."""

    def tell(self, candidate: Candidate, verdict: Verdict) -> None:
        """What became of one. One thread at a time."""


def run_trials(sandboxes: Sandboxes, source: Source, *, workers: int, stop: Event) -> None:
    """Run every trial of the source, `workers` at a time, until there is none, or `stop` is set.

    What fails in one worker ends all: trials that have begun are finished.
    """
    shared = _Shared(source, stop)

    def work() -> None:
        try:
            _Worker(sandboxes, shared).run()
        except BaseException:
            shared.failed = True
            raise

    with ThreadPoolExecutor(workers, thread_name_prefix="evaluate") as pool, ExitStack() as stack:
        stack.callback(setattr, shared, "failed", True)  # interrupted: the pool waits for its threads
        running = [pool.submit(work) for _ in range(workers)]
        for worker in running:
            worker.result()


class _Shared:
    """A source behind a lock."""

    def __init__(self, source: Source, stop: Event) -> None:
        self._source, self._stop, self._lock = source, stop, Lock()
        self.failed = False

    def draw(self) -> Trial | None:
        with self._lock:
            return None if self.is_over() else self._source.draw()

    def tell(self, settled: Settled) -> None:
        with self._lock:
            for candidate, verdict in settled.verdicts:
                self._source.tell(candidate, verdict)

    def is_over(self) -> bool:
        return self.failed or self._stop.is_set()


class _Worker:
    """One thread's share: its own trials that are left come before new ones."""

    def __init__(self, sandboxes: Sandboxes, shared: _Shared) -> None:
        self._sandboxes, self._shared = sandboxes, shared
        self._waiting: deque[Trial] = deque()

    def run(self) -> None:
        """Work until there is nothing left."""
        while self._fill():
            judged_by = self._waiting[0].judged_by
            running: list[Trial] = []

            def end(_: int, execution: Execution, running: list[Trial] = running) -> None:
                self._end(running.pop(), execution)

            self._sandboxes.get(judged_by).map(self._jobs(judged_by, running), workers=1, on_result=end)

    def _fill(self) -> bool:
        if not self._waiting:
            trial = self._shared.draw()
            if trial is not None:
                self._waiting.append(trial)
        return bool(self._waiting) and not self._shared.is_over()

    def _jobs(self, judged_by: JudgedBy, running: list[Trial]) -> Iterator[Job]:
        """The next jobs for one sandbox; what each settles is known before the next is asked for."""
        for _ in range(_JOBS_IN_A_ROW):
            if not self._fill() or self._waiting[0].judged_by != judged_by:
                return
            running.append(self._waiting.popleft())
            yield running[0].job

    def _end(self, trial: Trial, execution: Execution) -> None:
        try:
            settled = trial.settle(execution)
        except SandboxError as error:
            settled = _tried_again(trial, str(error))
        self._waiting.extendleft(reversed(settled.left))
        self._shared.tell(settled)


def _tried_again(trial: Trial, message: str) -> Settled:
    """The same once more for each that has attempts left."""
    lost = tuple(each for each in trial.candidates if each.attempts >= MOST_ATTEMPTS)
    left = [each.again() for each in trial.candidates if each.attempts < MOST_ATTEMPTS]
    return Settled(
        verdicts=tuple((each, machine_failed(each, message)) for each in lost),
        left=tuple(trial.again(left)) if left else (),
    )
