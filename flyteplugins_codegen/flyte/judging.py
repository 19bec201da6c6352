"""Judging candidates: what is called in one context shares sandboxes, as stages that are called directly do.

In local execution that is a whole run; on a cluster it is what one pod does.
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
from flyteplugins_codegen.stages.actions import Action, BuildEnvironment, MeasureStrength, RunTests
from flyteplugins_codegen.stages.attempts import settle_certainties
from flyteplugins_codegen.stages.build import build_environment, builds_image
from flyteplugins_codegen.stages.sandboxes import RunSandboxes
from flyteplugins_codegen.stages.strength import (
    judge_and_measure,
    measure_strength,
    parts_of,
    without_partial_strength,
)
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
    """Let everything that is judged in this context share sandboxes."""
    if _OPTIONS.get().sandboxes is not None:
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


def judge_ahead(run: Run, samples: Callable[[], Mapping[str, Path]]) -> tuple[Run, Action]:
    """Take all next steps that need neither a model nor further pods; return the run and the action after them.

    These are certain changes, a changed environment, the tests of one candidate, and their strength unless that takes
    long. `samples` is called only if the candidate runs. Raises as `build_environment` and `run_tests`.
    """
    run, action = settle_certainties(run)
    while True:
        match action:
            case BuildEnvironment() if not builds_image(run.settings):
                run = build_environment(run)
            case RunTests():
                run = judge(run, samples())
            case MeasureStrength() if parts_of(run) == 1:
                run = measure(run)
            case _:
                return run, action
        run, action = settle_certainties(run)


def judge(run: Run, samples: Mapping[str, Path]) -> Run:
    """The run with the next candidate judged; in shared sandboxes the strength of its tests is measured meanwhile.

    Raises SandboxError, IndexUnavailableError.
    """
    options = _OPTIONS.get()
    if options.sandboxes is None or not options.measures_strength:
        return run_tests(run, samples, options.sandboxes)
    judged = run_blocking(judge_and_measure(run, samples, options.sandboxes))
    return judged if runs_locally() else without_partial_strength(judged)


def measure(run: Run) -> Run:
    """The run with the strength of the tests that its base attempt passed."""
    return measure_strength(run, _OPTIONS.get().sandboxes)
