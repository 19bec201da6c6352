"""Runs trials in sandboxes, several at a time: what is lost by the machine is tried again, what is settled is told."""

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
from flyteplugins_codegen.evaluation.trials import MOST_ATTEMPTS, Candidate, Settled, Trial, Verdict, machine_failed
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


# Candidates on their way into sandboxes: what is known already is not run, what is quick shares a sandbox.

MOST_TOGETHER: Final = 16
_MOST_TOGETHER_S: Final = 0.25  # of processor time: what takes longer gains nothing by sharing
_MOST_TOGETHER_BYTES: Final = 1 << 20


class Queue:
    """A source of trials for these candidates: `MOST_TOGETHER` of them in one, and fewer as they come to an end.

    There are at most `count` of them; None where nobody knows. What is left is dealt out so that none of the `workers`
    waits long for another's last trial. `told` hears of each verdict, once, be it known or new.
    """

    def __init__(
        self,
        candidates: Iterator[Candidate],
        journals: Journals,
        told: Callable[[Candidate, Verdict], None],
        *,
        count: int | None,
        workers: int,
    ) -> None:
        self._candidates, self._journals, self._told = candidates, journals, told
        self._left, self._workers = sys.maxsize if count is None else count, workers
        self._next: Candidate | None = None
        self._trials: list[Trial] = []

    def draw(self) -> Trial | None:
        """The next trial, of one candidate or of several that are quick."""
        while not self._trials:
            together = self._together()
            if not together:
                return None
            self._trials = list(judges.trials(together))
        return self._trials.pop(0)

    def tell(self, candidate: Candidate, verdict: Verdict) -> None:
        """Keep the verdict, unless the machine failed, and pass it on. Raises OSError where it cannot be kept."""
        if verdict.outcome != "infrastructure":
            self._journals.add(candidate.key, verdict)
        self._told(candidate, verdict)

    def _together(self) -> list[Candidate]:
        found: list[Candidate] = []
        most = max(1, min(MOST_TOGETHER, self._left // self._workers))
        while len(found) < most and (candidate := self._unknown()) is not None:
            if found and not _fit([*found, candidate]):
                self._next = candidate
                break
            found.append(candidate)
        return found

    def _unknown(self) -> Candidate | None:
        """The next candidate that has to be run."""
        candidate, self._next = self._next, None
        while candidate is None:
            candidate = next(self._candidates, None)
            if candidate is None:
                return None
            self._left -= 1
            verdict = self._journals.get(candidate.key) or judges.begin(candidate)
            if verdict is not None:
                self._told(candidate, verdict)
                candidate = None
        return candidate


def _fit(candidates: list[Candidate]) -> bool:
    """Whether these may share a sandbox: alike in all but their times, and quick."""
    first, last = candidates[0], candidates[-1]
    return (
        first.judged_by == last.judged_by
        and replace(first.limits, cpu_s=last.limits.cpu_s, wall_s=last.limits.wall_s) == last.limits
        and sum(each.expected_s for each in candidates) <= _MOST_TOGETHER_S
        and sum(len(each.program) for each in candidates) <= _MOST_TOGETHER_BYTES
    )


# The sandboxes of one evaluation: with the packages that its tests import, opened when they are first needed.

_STANDARD: Final = "|".join(sorted(sys.stdlib_module_names))
_STANDARD_IMPORT: Final = re.compile(rf"^(?:import (?:{_STANDARD})|from (?:{_STANDARD}) import [\w, ]+)$", re.MULTILINE)
_OF_SUITES: Final = frozenset({"pytest", "_pytest"})


@dataclass(frozen=True, slots=True)
class Packages:
    """What is installed, which modules of it are imported ahead, and whose tests import each distribution."""

    requirements: tuple[str, ...]
    modules: tuple[str, ...] = ()
    importers: Mapping[str, str] = field(default_factory=dict)


class OpenedSandboxes:
    """Opens each once; `close` ends them all. Safe to use from several threads."""

    def __init__(self, kind: SandboxKind, packages: Packages) -> None:
        self._kind, self._packages = kind, packages
        self._stack, self._lock = ExitStack(), Lock()
        self._opened: dict[str, Sandbox] = {}

    def get(self, judged_by: str) -> Sandbox:
        """The one for this way of judging. Raises SandboxUnavailableError, and what installing packages raises."""
        name = "suite" if judged_by == "suite" else "values"
        with self._lock:
            if name not in self._opened:
                self._opened[name] = self._open(is_of_suites=name == "suite")
            return self._opened[name]

    def close(self) -> None:
        """End them."""
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
            told = f"problem {importer!r}, whose tests or solution import it: {error}, or leave the problem out"
            raise PackageError(told, error.package) from error


def packages_of(problems: Iterable[Problem], packages: Sequence[str]) -> Packages:
    """What the tests import, and `packages`. Raises PackageError for a name that is refused."""
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
    """The texts of problems that may import, each once, with the problem that has it."""
    found: dict[str, str] = {}
    for problem in problems:
        if problem.language == "python":
            for source in _trusted(problem):
                found.setdefault(source, problem.task_id)
    return ((task_id, source) for source, task_id in found.items())


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
    except SyntaxError:  # a prompt in plain words
        return frozenset()


def _may_import_more(source: str) -> bool:
    """Whether it imports more than the standard library; most texts tell so by the words that begin their lines."""
    rest = _STANDARD_IMPORT.sub("", source)
    return "import" in rest and bool(third_party_modules(source))
