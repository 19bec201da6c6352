"""The sandboxes in which the candidates of a run are judged: two, kept open from one candidate to the next.

One is for scripts, one for suites. Suites, and mutants beside them, run in forks of an interpreter that has pytest
imported. It starts while the model is asked: before the first candidate for an environment without packages of its own,
afterwards for the environment of the last candidate, since most are repairs. The first script runs without a fork,
which is faster for a single run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from flyteplugins_codegen.errors import PackageError
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
"""The wall time of a script or a suite, unless the agent sets one."""


@dataclass(frozen=True, slots=True)
class CandidateSandboxes:
    """The sandboxes of one candidate: scripts see the packages that they declare, suites also those of the tests."""

    scripts: Sandbox
    suites: Sandbox
    limits: Limits


@dataclass(frozen=True, slots=True)
class _SandboxNeeds:
    """What two candidates must have in common to be judged in the same sandboxes.

    `modules` are the imports of the first candidate, and mostly of the others: warm workers import them before they
    fork.
    """

    kind: SandboxKind
    scripts: InstalledEnvironment
    suites: InstalledEnvironment
    modules: tuple[str, ...] = field(default=(), compare=False)


class RunSandboxes:
    """Keeps the sandboxes of the newest environment open until `close`. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._stack = ExitStack()
        self._needs: _SandboxNeeds | None = None
        self._opened: tuple[Sandbox, Sandbox] | None = None
        self._first: Candidate | None = None
        self._older: list[ExitStack] = []
        self._background = ThreadPoolExecutor(1, thread_name_prefix="sandboxes-ahead")
        self._opening_ahead: Future[None] | None = None
        self._warmed_up: Sandbox | None = None

    def open_ahead(self, run: Run) -> None:
        """Start opening what the next candidate will probably need, and return at once.

        Before the first candidate these are sandboxes without packages. Errors are ignored here: the stage that needs
        the sandboxes raises them.
        """
        has_suite = run.request.tests is not None or not run.settings.skip_tests
        if not has_suite or run.settings.sandbox not in ("auto", "bubblewrap"):
            return
        if self._opening_ahead is None:
            self._opening_ahead = self._background.submit(self._open_without_packages, run)
        self._background.submit(self._warm_up, run)

    def for_candidate(self, run: Run, candidate: Candidate, lock: EnvironmentLock) -> CandidateSandboxes:
        """The sandboxes for this candidate, usable until `close`.

        Raises PackageError, IndexUnavailableError, SandboxUnavailableError.
        """
        needs = _needs_of(run, candidate, lock)
        if self._opening_ahead is not None:
            wait([self._opening_ahead])
        with self._lock:
            scripts, suites = (self._opened if needs == self._needs else None) or self._open(needs)
            self._first = self._first or candidate
            is_first = candidate == self._first
            return CandidateSandboxes(
                scripts if is_first else _WarmSandbox(scripts), _WarmSandbox(suites), _limits_of(run)
            )

    def close(self) -> None:
        """Close all sandboxes."""
        self._background.shutdown()
        with self._lock, ExitStack() as closing:
            for stack in (*self._older, self._stack):
                closing.callback(stack.close)
            self._opened = None

    def _open(self, needs: _SandboxNeeds) -> tuple[Sandbox, Sandbox]:
        self._older.append(self._stack)
        self._stack = ExitStack()
        self._first = None
        self._needs, self._opened = needs, _open_both(needs, self._stack)
        return self._opened

    def _open_without_packages(self, run: Run) -> None:
        needs = _needs_without_packages(run)
        with self._lock:
            if self._opened is None:
                self._open(needs)

    def _warm_up(self, run: Run) -> None:
        """Start the zygote from which suites are forked, once for each sandbox; without a sandbox, do nothing."""
        with self._lock:
            suites = self._opened and self._opened[1]
            is_new, self._warmed_up = suites is not self._warmed_up, suites
        if suites and suites.kind == "bubblewrap" and is_new:
            suites.map([suite_rehearsal(run.settings.env_vars)], workers=1)


@dataclass(frozen=True, slots=True)
class _WarmSandbox:
    """A sandbox that runs single jobs in warm workers too."""

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


def _open_both(needs: _SandboxNeeds, stack: ExitStack) -> tuple[Sandbox, Sandbox]:
    # In parallel: opening a sandbox mostly waits for the processes that mount its folders.
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


def _needs_without_packages(run: Run) -> _SandboxNeeds:
    own, runner = install_for_tests(resolve_packages(run.settings, requirements_of((), (), run.settings.base_packages)))
    return _SandboxNeeds(run.settings.sandbox, own, combine(runner, own))


def _needs_of(run: Run, candidate: Candidate, lock: EnvironmentLock) -> _SandboxNeeds:
    own, runner = install_for_tests(lock)
    # The runner's packages come first, so that no package of a candidate replaces one of them.
    with_tests = combine(runner, _with_imports(run, candidate, lock, own))
    modules = {name.partition(".")[0] for name in _third_party([candidate.solution.code, candidate.tests])}
    return _SandboxNeeds(run.settings.sandbox, own, with_tests, tuple(sorted(modules)))


def _with_imports(
    run: Run, candidate: Candidate, lock: EnvironmentLock, own: InstalledEnvironment
) -> InstalledEnvironment:
    """As `_with_test_imports`; a package that only the reference imports, and that is not to be had, is left out."""
    tests = [run.request.tests, candidate.tests]
    if candidate.reference is None or not run.settings.reference:
        return _with_test_imports(tests, lock, own)
    try:
        return _with_test_imports([*tests, candidate.reference], lock, own)
    except PackageError:
        return _with_test_imports(tests, lock, own)


def _with_test_imports(
    sources: Sequence[str | None], lock: EnvironmentLock, own: InstalledEnvironment
) -> InstalledEnvironment:
    """The solution's environment with the further packages that its tests import."""
    extra = set(requirements_of(_third_party(sources), ())) - set(lock.packages) - {"pytest"}
    return install(resolve([*lock.packages, *extra], python=lock.python)) if extra else own


def _third_party(sources: Sequence[str | None]) -> set[str]:
    """The third-party names that these sources import. Sources with syntax errors are reported when they run."""
    valid = [source for source in sources if source and syntax_cause(source, "test_solution.py") is None]
    return {name for source in valid for name in third_party_names(source)}
