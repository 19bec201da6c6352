"""Judging candidates in local execution: in sandboxes that its tasks share, as the stages called directly share them.

On a cluster each task is a pod, which opens its own.
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
class _Place:
    sandboxes: RunSandboxes | None = None
    measures_strength: bool = True


_OWN: Final = _Place()
_PLACE: Final[ContextVar[_Place]] = ContextVar("place_of_judging")


@contextmanager
def shared_sandboxes() -> Iterator[None]:
    """Have the tasks that are called in here judge in the same sandboxes, in local execution."""
    if not runs_locally() or _PLACE.get(_OWN).sandboxes is not None:
        yield
        return
    with closing(RunSandboxes()) as sandboxes, _placed(_Place(sandboxes=sandboxes)):
        yield


@contextmanager
def without_strength() -> Iterator[None]:
    """Have what is judged in here judged only: of several candidates, the tests of one are worth measuring."""
    with _placed(replace(_PLACE.get(_OWN), measures_strength=False)):
        yield


def preparing_for(run: Run) -> Callable[[], None]:
    """What begins, when it is called, to make the shared sandboxes ready; nothing where each task has its own."""
    sandboxes = _PLACE.get(_OWN).sandboxes
    return (lambda: sandboxes.open_ahead(run)) if sandboxes else lambda: None


def judge(run: Run, samples: Mapping[str, Path]) -> Run:
    """The run with the next candidate judged; in shared sandboxes with the strength of its tests measured beside.

    Raises SandboxError, IndexUnavailableError.
    """
    place = _PLACE.get(_OWN)
    if place.sandboxes is None or not place.measures_strength:
        return run_tests(run, samples, place.sandboxes)
    return run_blocking(judge_and_measure(run, samples, place.sandboxes))


def measure(run: Run) -> Run:
    """The run with the strength of the tests that its base attempt has passed."""
    return measure_strength(run, _PLACE.get(_OWN).sandboxes)


@contextmanager
def _placed(place: _Place) -> Iterator[None]:
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)
