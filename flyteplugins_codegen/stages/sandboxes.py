"""Where candidates are judged: two sandboxes that stay open from one candidate of a run to the next.

Suites, and mutants beside them, run in forks of an interpreter that waits with pytest imported. It starts while the
model is asked: before the first candidate for one that needs no packages of its own, and afterwards for the environment
of the last, since most are repairs. The script of the first runs cold, which is quicker for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from flyteplugins_codegen.judging.causes import syntax_cause
from flyteplugins_codegen.judging.suites.run import SUITE_MODULES, suite_rehearsal
from flyteplugins_codegen.models.environment import EnvironmentLock, InstalledEnvironment
from flyteplugins_codegen.models.job import Candidate
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.packages.install import combine, install
from flyteplugins_codegen.packages.names import requirements_of
from flyteplugins_codegen.packages.resolve import resolve
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.source.python import third_party_names
from flyteplugins_codegen.stages.build import install_for_tests, resolve_packages

WORKERS: Final = 2
_TIMEOUT_S: Final = 120.0
"""Wall seconds for a script or a suite while a candidate is judged, where the agent sets none."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where one candidate is judged: scripts see what they declare, suites also what tests need."""

    scripts: Sandbox
    suites: Sandbox
    limits: Limits


@dataclass(frozen=True, slots=True)
class _Needs:
    """What two candidates must have in common to be judged in the same sandboxes.

    `modules` are what the first of them imports, and so mostly each: warm workers have them before they fork.
    """

    kind: SandboxKind
    scripts: InstalledEnvironment
    suites: InstalledEnvironment
    modules: tuple[str, ...] = field(default=(), compare=False)


class Sandboxes:
    """Keeps the sandboxes of the newest environment; `close` ends them. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._stack = ExitStack()
        self._needs: _Needs | None = None
        self._opened: tuple[Sandbox, Sandbox] | None = None
        self._first: Candidate | None = None
        self._older: list[ExitStack] = []
        self._ahead = ThreadPoolExecutor(1, thread_name_prefix="benches")
        self._foreseen: Future[None] | None = None
        self._rehearsed: Sandbox | None = None

    def foresee(self, run: Run) -> None:
        """Begin to make ready what the next candidate will need by all that is known. Returns at once.

        Before the first that is a place for one without packages of its own. What goes wrong is left to the stage that
        needs it to tell.
        """
        has_suite = run.request.tests is not None or not run.settings.skip_tests
        if not has_suite or run.settings.sandbox not in ("auto", "bubblewrap"):
            return
        if self._foreseen is None:
            self._foreseen = self._ahead.submit(self._open_ahead, run)
        self._ahead.submit(self._rehearse, run)

    def bench(self, run: Run, candidate: Candidate, lock: EnvironmentLock) -> Bench:
        """Where to judge the candidate, usable until `close`.

        Raises PackageError, IndexUnavailableError, SandboxUnavailableError.
        """
        needs = _needs_of(run, candidate, lock)
        if self._foreseen is not None:
            wait([self._foreseen])
        with self._lock:
            opened = self._opened if needs == self._needs else None
            scripts, suites = opened or self._open(needs)
            self._first = self._first or candidate
            return Bench(scripts if candidate == self._first else _Warm(scripts), _Warm(suites), _limits_of(run))

    def _open(self, needs: _Needs) -> tuple[Sandbox, Sandbox]:
        self._older.append(self._stack)
        self._stack = ExitStack()
        self._first = None
        self._needs, self._opened = needs, _open_both(needs, self._stack)
        return self._opened

    def _open_ahead(self, run: Run) -> None:
        needs = _needs_without_packages(run)
        with self._lock:
            if self._opened is None:
                self._open(needs)

    def _rehearse(self, run: Run) -> None:
        """Have the zygote that suites are forked from, once for each place; where none was opened, there is nothing."""
        with self._lock:
            suites = self._opened and self._opened[1]
            is_new, self._rehearsed = suites is not self._rehearsed, suites
        if suites and suites.kind == "bubblewrap" and is_new:
            suites.map([suite_rehearsal(run.settings.env_vars)], workers=1)

    def close(self) -> None:
        """End all sandboxes."""
        self._ahead.shutdown()
        with self._lock, ExitStack() as closing:
            for stack in (*self._older, self._stack):
                closing.callback(stack.close)
            self._opened = None


@dataclass(frozen=True, slots=True)
class _Warm:
    """A sandbox whose single jobs run in warm workers too."""

    sandbox: Sandbox

    @property
    def kind(self) -> str:
        return self.sandbox.kind

    def run(self, job: Job) -> Execution:
        return self.sandbox.map([job], workers=1)[0]

    def map(
        self, jobs: Iterable[Job], *, workers: int = WORKERS, on_result: Callable[[int, Execution], None] | None = None
    ) -> list[Execution]:
        return self.sandbox.map(jobs, workers=workers, on_result=on_result)

    def close(self) -> None:
        self.sandbox.close()


def _open_both(needs: _Needs, stack: ExitStack) -> tuple[Sandbox, Sandbox]:
    """Side by side, for opening one mostly waits for the processes that mount its folders."""

    def opened(environment: InstalledEnvironment, preload: Sequence[str]) -> Sandbox:
        return stack.enter_context(open_sandbox(needs.kind, environment=environment, preload=preload))

    with ThreadPoolExecutor(WORKERS) as pool:
        suites = pool.submit(opened, needs.suites, (*SUITE_MODULES, *needs.modules))
        return opened(needs.scripts, needs.modules), suites.result()


def _limits_of(run: Run) -> Limits:
    resources = run.settings.resources
    return Limits(
        wall_s=run.settings.timeout_s or _TIMEOUT_S,
        memory_mib=resources.memory_mib if resources else Limits().memory_mib,
    )


def _needs_without_packages(run: Run) -> _Needs:
    own, runner = install_for_tests(resolve_packages(run.settings, requirements_of((), (), run.settings.base_packages)))
    return _Needs(run.settings.sandbox, own, combine(runner, own))


def _needs_of(run: Run, candidate: Candidate, lock: EnvironmentLock) -> _Needs:
    own, runner = install_for_tests(lock)
    # The runner's first, so that no package of a candidate's choosing stands in for one of them.
    with_tests = combine(runner, _with_test_imports([run.request.tests, candidate.tests], lock, own))
    modules = _third_party([candidate.solution.code, candidate.tests])
    return _Needs(run.settings.sandbox, own, with_tests, tuple(sorted({name.partition(".")[0] for name in modules})))


def _with_test_imports(
    sources: Sequence[str | None], lock: EnvironmentLock, own: InstalledEnvironment
) -> InstalledEnvironment:
    """The solution's environment, with what its tests import beyond it."""
    extra = set(requirements_of(_third_party(sources), ())) - set(lock.packages) - {"pytest"}
    return install(resolve([*lock.packages, *extra], python=lock.python)) if extra else own


def _third_party(sources: Sequence[str | None]) -> set[str]:
    """The dotted names that these import; the flaw of one that does not parse is told by what runs it."""
    parsing = [source for source in sources if source and syntax_cause(source, "test_solution.py") is None]
    return {name for source in parsing for name in third_party_names(source)}
