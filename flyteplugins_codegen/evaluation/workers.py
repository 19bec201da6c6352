"""Runs trials in sandboxes, several at a time, and repeats those for which the machine failed."""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from threading import Event, Lock
from typing import Final, Protocol

from flyteplugins_codegen.errors import PackageError, SandboxError
from flyteplugins_codegen.evaluation import judges
from flyteplugins_codegen.evaluation.journal import Journals
from flyteplugins_codegen.evaluation.trials import (
    MOST_ATTEMPTS,
    CandidateProgram,
    Settled,
    Trial,
    Verdict,
    machine_failed,
)
from flyteplugins_codegen.evaluation.values import (
    AssertTests,
    CheckTests,
    JudgedBy,
    Problem,
    PytestTests,
    UnittestTests,
)
from flyteplugins_codegen.judging.suites.run import SUITE_MODULES
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.packages.install import install
from flyteplugins_codegen.packages.names import distribution_for, requirements_of
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.sandbox.contract import Execution, Job, Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.source.python import third_party_modules, third_party_names

MOST_TOGETHER: Final = 16
"""The most candidates that share one trial."""

_MOST_TOGETHER_S: Final = 0.25  # of processor time: a slow candidate gains nothing by sharing
_MOST_TOGETHER_BYTES: Final = 1 << 20
_JOBS_IN_A_ROW: Final = 64  # a sandbox keeps the results of one `map` until it ends
_STANDARD: Final = "|".join(sorted(sys.stdlib_module_names))
_STANDARD_IMPORT: Final = re.compile(rf"^(?:import (?:{_STANDARD})|from (?:{_STANDARD}) import [\w, ]+)$", re.MULTILINE)
_OF_SUITES: Final = frozenset({"pytest", "_pytest"})

# --- workers ---


class SandboxProvider(Protocol):
    """Gives the sandboxes of one evaluation, each opened when it is first needed."""

    def get(self, judged_by: JudgedBy) -> Sandbox:
        """The sandbox that has what this method of judging needs."""


class TrialSource(Protocol):
    """Gives trials, and takes their verdicts. Neither method is called from two threads at once."""

    def draw(self) -> Trial | None:
        """The next trial, None if there is no other."""

    def report(self, candidate: CandidateProgram, verdict: Verdict) -> None:
        """Take the verdict on one candidate."""


def run_trials(sandboxes: SandboxProvider, source: TrialSource, *, workers: int, stop: Event) -> None:
    """Run every trial of the source, `workers` at a time, until there is none, or `stop` is set.

    An error in one worker ends all of them; trials that have begun are finished.
    """
    shared = _LockedSource(source, stop)

    def work() -> None:
        try:
            _Worker(sandboxes, shared).run()
        except BaseException:
            shared.failed = True
            raise

    with ThreadPoolExecutor(workers, thread_name_prefix="evaluate") as pool, ExitStack() as stack:
        stack.callback(setattr, shared, "failed", True)  # when interrupted: the pool waits for its threads
        running = [pool.submit(work) for _ in range(workers)]
        for worker in running:
            worker.result()


class _LockedSource:
    """A source behind a lock, until it is stopped or a worker fails."""

    def __init__(self, source: TrialSource, stop: Event) -> None:
        self._source, self._stop, self._lock = source, stop, Lock()
        self.failed = False

    def draw(self) -> Trial | None:
        with self._lock:
            return None if self.is_over() else self._source.draw()

    def report(self, settled: Settled) -> None:
        with self._lock:
            for candidate, verdict in settled.verdicts:
                self._source.report(candidate, verdict)

    def is_over(self) -> bool:
        return self.failed or self._stop.is_set()


class _Worker:
    """One thread's work: trials that remain of its earlier ones come before new ones."""

    def __init__(self, sandboxes: SandboxProvider, shared: _LockedSource) -> None:
        self._sandboxes, self._shared = sandboxes, shared
        self._waiting: deque[Trial] = deque()

    def run(self) -> None:
        """Run trials until there are none."""
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
        """The next jobs for one sandbox; each one is settled before the next is drawn."""
        for _ in range(_JOBS_IN_A_ROW):
            if not self._fill() or self._waiting[0].judged_by != judged_by:
                return
            running.append(self._waiting.popleft())
            yield running[0].job

    def _end(self, trial: Trial, execution: Execution) -> None:
        try:
            settled = trial.settle(execution)
        except SandboxError as error:
            settled = _retry(trial, str(error))
        self._waiting.extendleft(reversed(settled.remaining))
        self._shared.report(settled)


def _retry(trial: Trial, message: str) -> Settled:
    """The trial again for the candidates that have attempts left; the others get the verdict "infrastructure"."""
    failed = tuple(candidate for candidate in trial.candidates if candidate.attempts >= MOST_ATTEMPTS)
    retried = [candidate.again() for candidate in trial.candidates if candidate.attempts < MOST_ATTEMPTS]
    return Settled(
        verdicts=tuple((candidate, machine_failed(candidate, message)) for candidate in failed),
        remaining=tuple(trial.again(retried)) if retried else (),
    )


# --- the queue of candidates ---


class TrialQueue:
    """Makes trials out of candidates. A candidate whose verdict is in a journal is not run; quick ones share a trial.

    `count` is the most candidates that there can be, None if unknown: towards the end fewer of them share a trial, so
    that none of the `workers` waits long for another's last one. `on_verdict` is called once for each candidate.
    """

    def __init__(
        self,
        candidates: Iterator[CandidateProgram],
        journals: Journals,
        on_verdict: Callable[[CandidateProgram, Verdict], None],
        *,
        count: int | None,
        workers: int,
    ) -> None:
        self._candidates, self._journals, self._on_verdict = candidates, journals, on_verdict
        self._remaining, self._workers = sys.maxsize if count is None else count, workers
        self._next: CandidateProgram | None = None
        self._trials: list[Trial] = []

    def draw(self) -> Trial | None:
        """The next trial: of one candidate, or of several quick ones."""
        while not self._trials:
            together = self._together()
            if not together:
                return None
            self._trials = list(judges.trials(together))
        return self._trials.pop(0)

    def report(self, candidate: CandidateProgram, verdict: Verdict) -> None:
        """Keep the verdict in the journals unless the machine failed, and pass it on. Raises OSError of the disk."""
        if verdict.outcome != "infrastructure":
            self._journals.add(candidate.key, verdict)
        self._on_verdict(candidate, verdict)

    def _together(self) -> list[CandidateProgram]:
        together: list[CandidateProgram] = []
        most = max(1, min(MOST_TOGETHER, self._remaining // self._workers))
        while len(together) < most and (candidate := self._next_unknown()) is not None:
            if together and not _can_share([*together, candidate]):
                self._next = candidate
                break
            together.append(candidate)
        return together

    def _next_unknown(self) -> CandidateProgram | None:
        """The next candidate without a verdict."""
        candidate, self._next = self._next, None
        while candidate is None:
            candidate = next(self._candidates, None)
            if candidate is None:
                return None
            self._remaining -= 1
            verdict = self._journals.get(candidate.key) or judges.begin(candidate)
            if verdict is not None:
                self._on_verdict(candidate, verdict)
                candidate = None
        return candidate


def _can_share(candidates: list[CandidateProgram]) -> bool:
    """Whether the candidates may share a trial: judged alike, with limits that differ in time only, and quick."""
    first, last = candidates[0], candidates[-1]
    return (
        first.judged_by == last.judged_by
        and replace(first.limits, cpu_s=last.limits.cpu_s, wall_s=last.limits.wall_s) == last.limits
        and sum(candidate.expected_s for candidate in candidates) <= _MOST_TOGETHER_S
        and sum(len(candidate.program) for candidate in candidates) <= _MOST_TOGETHER_BYTES
    )


# --- sandboxes and their packages ---


@dataclass(frozen=True, slots=True)
class Packages:
    """What to install, the modules to import ahead, and by distribution the id of a problem that imports it."""

    requirements: tuple[str, ...]
    modules: tuple[str, ...] = ()
    importers: Mapping[str, str] = field(default_factory=dict)


class OpenedSandboxes:
    """Opens each sandbox once; `close` ends them all. Safe to use from several threads."""

    def __init__(self, kind: SandboxKind, packages: Packages) -> None:
        self._kind, self._packages = kind, packages
        self._stack, self._lock = ExitStack(), Lock()
        self._opened: dict[str, Sandbox] = {}

    def get(self, judged_by: str) -> Sandbox:
        """The sandbox for this method of judging. Raises SandboxUnavailableError, EnvironmentBuildError."""
        name = "suite" if judged_by == "suite" else "values"
        with self._lock:
            if name not in self._opened:
                self._opened[name] = self._open(is_of_suites=name == "suite")
            return self._opened[name]

    def close(self) -> None:
        """End the sandboxes."""
        self._stack.close()

    def _open(self, *, is_of_suites: bool) -> Sandbox:
        packages = (*self._packages.requirements, *(RUNNER_REQUIREMENTS if is_of_suites else ()))
        environment = self._install(packages) if packages else None
        modules = (*self._packages.modules, *(SUITE_MODULES if is_of_suites else ()))
        return self._stack.enter_context(open_sandbox(self._kind, environment=environment, preload=modules))

    def _install(self, packages: tuple[str, ...]) -> InstalledEnvironment:
        try:
            return install(resolve(packages))
        except PackageError as error:
            importer = self._packages.importers.get(error.package)
            if importer is None:
                raise
            message = f"problem {importer!r}, whose tests or solution import it: {error}, or leave the problem out"
            raise PackageError(message, error.package) from error


def packages_of(problems: Iterable[Problem], packages: Sequence[str]) -> Packages:
    """The packages that the problems import, and `packages`. Raises PackageError for a name that is refused."""
    importers: dict[str, str] = {}
    for task_id, source in sorted(_sources(problems), reverse=True):
        importers.update((name, task_id) for name in _imported(source) - _OF_SUITES)
    names = sorted(importers)
    return Packages(
        requirements_of(names, packages),
        tuple(dict.fromkeys(name.partition(".")[0] for name in names)),
        {distribution_for(name): importers[name] for name in names},
    )


def _sources(problems: Iterable[Problem]) -> Iterator[tuple[str, str]]:
    """The trusted Python sources of the problems, each once, after the id of the first problem that has it."""
    task_ids: dict[str, str] = {}
    for problem in problems:
        if problem.language == "python":
            for source in _trusted(problem):
                task_ids.setdefault(source, problem.task_id)
    return ((task_id, source) for source, task_id in task_ids.items())


def _trusted(problem: Problem) -> tuple[str, ...]:
    tests = problem.tests
    if isinstance(tests, CheckTests | UnittestTests | PytestTests):
        return tests.source, problem.prompt, problem.canonical_solution or ""
    if isinstance(tests, AssertTests):
        return tests.setup, *tests.asserts, problem.prompt, problem.canonical_solution or ""
    return (problem.canonical_solution or "",)


def _imported(source: str) -> frozenset[str]:
    try:
        if not _may_import_more(source):
            return frozenset()
        return frozenset(third_party_names(source)) - frozenset({"solution"})
    except SyntaxError:  # a prompt in prose
        return frozenset()


def _may_import_more(source: str) -> bool:
    """Whether the source imports more than the standard library; it is parsed only if its lines do not show that."""
    rest = _STANDARD_IMPORT.sub("", source)
    return "import" in rest and bool(third_party_modules(source))
