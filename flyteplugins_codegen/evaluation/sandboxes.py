"""The sandboxes of one evaluation: with the packages that its tests import, opened when they are first needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from threading import Lock
from typing import Final

from flyteplugins_codegen.environment.layers import install
from flyteplugins_codegen.environment.lock import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.environment.packages import requirements_of
from flyteplugins_codegen.evaluation.values import AssertTests, CheckTests, Problem, PytestTests, UnittestTests
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.contract import Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.sandbox.warm.modules import SUITE_MODULES
from flyteplugins_codegen.source.imports import third_party_modules, third_party_names

_OF_SUITES: Final = frozenset({"pytest", "_pytest"})


class OpenedSandboxes:
    """Opens each once; `close` ends them all. Safe to use from several threads."""

    def __init__(self, kind: SandboxKind, packages: Sequence[str], modules: Sequence[str]) -> None:
        self._kind, self._packages, self._modules = kind, tuple(packages), tuple(modules)
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
        packages = (*self._packages, *(RUNNER_REQUIREMENTS if is_of_suites else ()))
        environment = install(resolve(packages)) if packages else None
        modules = (*self._modules, *(SUITE_MODULES if is_of_suites else ()))
        return self._stack.enter_context(open_sandbox(self._kind, environment=environment, preload=modules))


def packages_of(problems: Iterable[Problem], packages: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What to install, and which modules of it to import ahead: what the tests import, and `packages`.

    Raises PackageError for a name that is refused.
    """
    sources = {source for problem in problems if problem.language == "python" for source in _trusted(problem)}
    names = sorted({name for source in sources for name in _imported(source)} - _OF_SUITES)
    modules = tuple(dict.fromkeys(name.partition(".")[0] for name in names))
    return requirements_of(names, packages), modules


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
    return "import" in source and bool(third_party_modules(source))
