"""Judging candidates: in local execution all tasks share sandboxes, as stages that are called directly do.

On a cluster each task is a pod and opens sandboxes of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.solution.flytekit import runs_locally
from flyteplugins_codegen.stages.sandboxes import RunSandboxes
from flyteplugins_codegen.stages.strength import judge_and_measure, measure_strength
from flyteplugins_codegen.stages.test import run_tests
from flyteplugins_codegen.sync import run_blocking


@dataclass(frozen=True, slots=True, kw_only=True)
class _JudgingOptions:
    sandboxes: RunSandboxes | None = None
    measures_strength: bool = True


_DEFAULT: Final = _JudgingOptions()
_OPTIONS: Final[ContextVar[_JudgingOptions]] = ContextVar("judging_options", default=_DEFAULT)


@contextmanager
def shared_sandboxes() -> Iterator[None]:
    """Let the tasks that are called in this context share sandboxes, in local execution."""
    if not runs_locally() or _OPTIONS.get().sandboxes is not None:
        yield
        return
    with closing(RunSandboxes()) as sandboxes, _with_options(_JudgingOptions(sandboxes=sandboxes)):
        yield


@contextmanager
def without_strength() -> Iterator[None]:
    """Judge without measuring the tests: of several candidates, only the chosen one's tests are worth measuring."""
    with _with_options(replace(_OPTIONS.get(), measures_strength=False)):
        yield


@contextmanager
def _with_options(options: _JudgingOptions) -> Iterator[None]:
    token = _OPTIONS.set(options)
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def sandbox_preparation(run: Run) -> Callable[[], None]:
    """A function that starts to prepare the shared sandboxes; it does nothing where each task has its own."""
    sandboxes = _OPTIONS.get().sandboxes
    return (lambda: sandboxes.open_ahead(run)) if sandboxes else lambda: None


def judge(run: Run, samples: Mapping[str, Path]) -> Run:
    """The run with the next candidate judged; in shared sandboxes the strength of its tests is measured meanwhile.

    Raises SandboxError, IndexUnavailableError.
    """
    options = _OPTIONS.get()
    if options.sandboxes is None or not options.measures_strength:
        return run_tests(run, samples, options.sandboxes)
    return run_blocking(judge_and_measure(run, samples, options.sandboxes))


def measure(run: Run) -> Run:
    """The run with the strength of the tests that its base attempt passed."""
    return measure_strength(run, _OPTIONS.get().sandboxes)
