"""The findings of an evaluation: a result for every sample, the scores, and the comparison of two evaluations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.statistics import (
    Interval,
    bootstrap_interval,
    estimate_pass_at_k,
    estimate_pass_hat_k,
    mcnemar_p_value,
)
from flyteplugins_codegen.evaluation.values import OUTCOMES, Outcome, SampleResult


@dataclass(frozen=True, slots=True)
class ProblemFlaw:
    """Why a problem is in doubt: its canonical solution does not pass its own tests."""

    task_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one problem: `n` samples are counted, `c` of them passed."""

    n: int
    c: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The scores of samples on problems, and the result of each sample.

    `samples` are in the order of the input. `pass_at_k` and `pass_hat_k` (all of k samples pass) are by k; they are NaN
    if a problem has fewer counted samples than k. `intervals` are the 95 % intervals of `pass_at_k`, bootstrapped by
    problem. `by_category` has pass@k of each category, if problems have any. `flaws` are the problems in doubt;
    `unanswered` are problems without a sample, which are in no score; `skipped` says which samples of their file were
    left out.
    """

    samples: tuple[SampleResult, ...]
    pass_at_k: Mapping[int, float]
    intervals: Mapping[int, Interval]
    pass_hat_k: Mapping[int, float]
    by_category: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    scores: Mapping[str, Score] = field(default_factory=dict)
    categories: Mapping[str, str] = field(default_factory=dict)
    flaws: tuple[ProblemFlaw, ...] = ()
    unanswered: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[Outcome, int]:
        """The number of samples with each outcome, in the order of `OUTCOMES`."""
        counter = Counter(sample.outcome for sample in self.samples)
        return {outcome: counter[outcome] for outcome in OUTCOMES}


def check_k(k: Sequence[int]) -> None:
    """Raise RequestError unless k has whole numbers from 1."""
    wrong = [number for number in k if type(number) is not int or number < 1]  # True is an int, but no number here
    if wrong or not k:
        asked = f"k={wrong[0]!r}" if wrong else "no k at all"
        raise RequestError(f"pass@k is asked for {asked}; k counts samples, give whole numbers from 1, such as (1, 10)")


def score_problems(samples: Iterable[SampleResult]) -> dict[str, Score]:
    """The score of each problem, in the order of their first samples; failures of the machine do not count."""
    counted, passed = Counter[str](), Counter[str]()
    for sample in samples:
        counted[sample.task_id] += sample.is_counted
        passed[sample.task_id] += sample.passed
    return {task: Score(counted[task], passed[task]) for task in counted}


def mean_pass_at_k(scores: Iterable[Score], k: int) -> float:
    """The mean of pass@k over problems; NaN if one has fewer samples than k, or there is no problem."""
    return mean([pass_at_k(score, k) for score in scores])


def pass_at_k(score: Score, k: int) -> float:
    """pass@k of one problem."""
    return estimate_pass_at_k(score.n, score.c, k)


def pass_hat_k(score: Score, k: int) -> float:
    """pass^k of one problem."""
    return estimate_pass_hat_k(score.n, score.c, k)


def mean(values: Sequence[float]) -> float:
    """The mean, NaN for no values."""
    return sum(values) / len(values) if values else float("nan")


def by_category(scores: Mapping[str, Score], categories: Mapping[str, str]) -> dict[str, list[Score]]:
    """The scores of the problems of each category; problems without a category are left out."""
    groups: dict[str, list[Score]] = {}
    for task, score in scores.items():
        if categories.get(task):
            groups.setdefault(categories[task], []).append(score)
    return groups


# --- comparison ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """A paired comparison of two evaluations, on the number of `problems` that both have counted samples for.

    `difference` is the second's pass@k minus the first's, by k; `intervals` are its 95 % intervals, bootstrapped by
    problem. `better` and `worse` are the problems whose samples pass more often, or less often, in the second one;
    `p_value` is of McNemar's exact test on their numbers (with more than one sample a problem, the sign test).
    """

    problems: int
    difference: Mapping[int, float]
    intervals: Mapping[int, Interval]
    better: tuple[str, ...]
    worse: tuple[str, ...]
    p_value: float


def pair(first: Findings, second: Findings) -> Pairing:
    """Compare two evaluations. Raises RequestError if they have no problem, or no k, in common."""
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
