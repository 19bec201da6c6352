"""Which way of judging there is for a problem's tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from types import ModuleType
from typing import Final, Literal

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.judging import by_output, by_program, by_suite, by_values
from flyteplugins_codegen.evaluation.judging.trials import Candidate, Trial, Verdict
from flyteplugins_codegen.evaluation.programs.languages import LANGUAGES_OF_PROGRAMS
from flyteplugins_codegen.evaluation.values import JudgedBy, Problem

Judge = Literal["auto", "values", "suite"]

# The first that takes a kind of tests is the one that is hardest to fool.
_WAYS: Final[dict[JudgedBy, ModuleType]] = {"values": by_values, "suite": by_suite, "output": by_output}


def ways_of(problem: Problem, judge: Judge) -> tuple[JudgedBy, ...]:
    """How its tests may be judged, the safest first. Raises RequestError where they cannot be judged so."""
    if problem.language != "python":
        _check_program(problem)
        return ("output",)
    found = tuple(name for name, way in _WAYS.items() if isinstance(problem.tests, way.KINDS))
    if found and (judge == "auto" or found == ("output",)):
        return found
    if judge not in found:
        kind = type(problem.tests).__name__
        remedy = "use 'auto'" if found else "they are for other languages than Python"
        raise RequestError(f"problem {problem.task_id!r} has {kind}, which judge={judge!r} does not take; {remedy}")
    return (judge,)


def _check_program(problem: Problem) -> None:
    language = problem.language
    if language not in LANGUAGES_OF_PROGRAMS:
        judged = ", ".join(("python", *LANGUAGES_OF_PROGRAMS))
        raise RequestError(
            f"problem {problem.task_id!r} is of {language}, which is not judged here; these are: {judged}"
        )
    if not isinstance(problem.tests, by_program.KINDS):
        kind = type(problem.tests).__name__
        raise RequestError(
            f"problem {problem.task_id!r} is of {language} and has {kind}; give StdinTests or ProgramTests"
        )


def begin(candidate: Candidate) -> Verdict | None:
    """The verdict where there is nothing to run; None where there is."""
    verdict: Verdict | None = _way(candidate).begin(candidate)
    return verdict


def _way(candidate: Candidate) -> ModuleType:
    return _WAYS[candidate.judged_by] if candidate.problem.language == "python" else by_program


def trials(candidates: Sequence[Candidate]) -> Iterable[Trial]:
    """Trials for candidates that are judged by the same kind of evidence, in whatever language they are."""
    return [trial for way, group in groupby(candidates, _way) for trial in way.trials(tuple(group))]
