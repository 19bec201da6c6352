"""Two evaluations of the same problems, held against each other problem by problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.findings import Findings, Score, pass_at_k
from flyteplugins_codegen.evaluation.intervals import Interval, bootstrap_interval, mcnemar_p_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """What two evaluations say about each other, on the `problems` that both have samples for.

    `difference` is the second's pass@k less the first's, with the 95 % interval of problems drawn anew in pairs.
    `better` and `worse` name the problems in which the second's samples pass more and less often; `p_value` is of
    McNemar's exact test on their numbers (for more than one sample a problem, the sign test).
    """

    problems: int
    difference: Mapping[int, float]
    intervals: Mapping[int, Interval]
    better: tuple[str, ...]
    worse: tuple[str, ...]
    p_value: float


def pair(first: Findings, second: Findings) -> Pairing:
    """Compare two evaluations. Raises RequestError where they have no problem, or no k, in common."""
    tasks = [task for task in first.scores if _is_counted(first, task) and _is_counted(second, task)]
    ks = [k for k in first.pass_at_k if k in second.pass_at_k]
    if not tasks or not ks:
        lacking = "problem with counted samples" if not tasks else "k"
        raise RequestError(f"the two evaluations have no {lacking} in common; compare runs on the same problems and k")
    pairs = {task: (first.scores[task], second.scores[task]) for task in tasks}
    changes = {k: [pass_at_k(later, k) - pass_at_k(earlier, k) for earlier, later in pairs.values()] for k in ks}
    better = tuple(task for task, (earlier, later) in pairs.items() if _rate(later) > _rate(earlier))
    worse = tuple(task for task, (earlier, later) in pairs.items() if _rate(later) < _rate(earlier))
    return Pairing(
        problems=len(tasks),
        difference={k: sum(change) / len(change) for k, change in changes.items()},
        intervals={k: bootstrap_interval(change) for k, change in changes.items()},
        better=better,
        worse=worse,
        p_value=mcnemar_p_value(len(worse), len(better)),
    )


def _is_counted(evaluation: Findings, task: str) -> bool:
    return task in evaluation.scores and evaluation.scores[task].n > 0


def _rate(score: Score) -> float:
    return score.c / score.n
