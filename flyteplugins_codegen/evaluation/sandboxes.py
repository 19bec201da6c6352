"""The sandboxes of one evaluation: with the packages that its tests import, opened when they are first needed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from flyteplugins_codegen.environment.layers import install
from flyteplugins_codegen.environment.lock import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.environment.packages import distribution_for, requirements_of
from flyteplugins_codegen.errors import PackageError
from flyteplugins_codegen.evaluation.values import AssertTests, CheckTests, Problem, PytestTests, UnittestTests
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.contract import Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.sandbox.warm.modules import SUITE_MODULES
from flyteplugins_codegen.source.imports import third_party_modules, third_party_names

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
