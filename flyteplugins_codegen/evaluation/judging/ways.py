"""Which way of judging there is for a problem's tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Final, Literal

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.judging import by_output, by_suite, by_values
from flyteplugins_codegen.evaluation.judging.trials import Candidate, Trial, Verdict
from flyteplugins_codegen.evaluation.values import JudgedBy, Problem

Judge = Literal["auto", "values", "suite"]

# The first that takes a kind of tests is the one that is hardest to fool.
_WAYS: Final[dict[JudgedBy, ModuleType]] = {"values": by_values, "suite": by_suite, "output": by_output}


def ways_of(problem: Problem, judge: Judge) -> tuple[JudgedBy, ...]:
    """How its tests may be judged, the safest first. Raises RequestError where they cannot be judged so."""
    if problem.language != "python":
        raise RequestError(
            f"problem {problem.task_id!r} is of {problem.language}, which is not judged here: give Python"
        )
    found = tuple(name for name, way in _WAYS.items() if isinstance(problem.tests, way.KINDS))
    if judge == "auto" or found == ("output",):
        return found
    if judge not in found:
        kind = type(problem.tests).__name__
        raise RequestError(f"problem {problem.task_id!r} has {kind}, which judge={judge!r} does not take; use 'auto'")
    return (judge,)


def begin(candidate: Candidate) -> Verdict | None:
    """The verdict where there is nothing to run; None where there is."""
    verdict: Verdict | None = _WAYS[candidate.judged_by].begin(candidate)
    return verdict


def trials(candidates: Sequence[Candidate]) -> Iterable[Trial]:
    """Trials for candidates that are judged in one way."""
    found: Iterable[Trial] = _WAYS[candidates[0].judged_by].trials(candidates)
    return found
