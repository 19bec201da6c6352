"""Scores with their intervals, and the comparison of two evaluations."""

from __future__ import annotations

import math
from typing import Any

import pytest

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.evaluation import Evaluation, summarize
from flyteplugins_codegen.evaluation.scores import pair
from flyteplugins_codegen.evaluation.statistics import bootstrap_interval, mcnemar_p_value
from flyteplugins_codegen.evaluation.values import Outcome, SampleResult


def ends(**outcomes: str) -> list[SampleResult]:
    """`a="pfi"`: three samples of the problem `a`, that passed, failed, and met a machine that failed."""
    kinds: dict[str, Outcome] = {"p": "passed", "f": "wrong_answer", "i": "infrastructure"}
    each = [(task, kinds[letter]) for task, letters in outcomes.items() for letter in letters]
    return [SampleResult(task_id=task, index=index, outcome=end) for index, (task, end) in enumerate(each)]


def evaluation(k: tuple[int, ...] = (1,), **outcomes: str) -> Evaluation:
    return summarize(ends(**outcomes), k)


def test_pass_at_k_is_the_mean_over_problems() -> None:
    found = evaluation((1, 2), a="pf", b="ff", c="pp")
    assert found.pass_at_k == {1: pytest.approx(0.5), 2: pytest.approx(2 / 3)}
    assert found.pass_hat_k == {1: pytest.approx(0.5), 2: pytest.approx(1 / 3)}
    assert (found.counts["passed"], found.counts["wrong_answer"], found.counts["forged"]) == (3, 3, 0)


def test_what_the_machine_failed_is_neither_right_nor_wrong() -> None:
    assert evaluation(a="pi", b="fi").pass_at_k == {1: 0.5}
    assert math.isnan(evaluation((2,), a="pi", b="ff").pass_at_k[2])


def test_each_category_has_its_scores() -> None:
    found = summarize(ends(a="p", b="f", c="p"), (1,), categories={"a": "text", "b": "text", "c": ""})
    assert found.by_category == {"text": {1: 0.5}}


@pytest.mark.parametrize(("k", "message"), [((0,), "k=0"), ((), "no k at all"), ((1, -2), "k=-2"), ((True,), "k=True")])
def test_an_impossible_k_is_refused(k: tuple[int, ...], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        evaluation(k, a="p")


def test_an_interval_holds_the_mean_and_narrows_with_problems() -> None:
    few, many = bootstrap_interval([0.0, 1.0] * 8), bootstrap_interval([0.0, 1.0] * 200)
    assert few[0] < many[0] < 0.5 < many[1] < few[1]
    assert many == (pytest.approx(0.451, abs=0.005), pytest.approx(0.549, abs=0.005))  # 1.96 * 0.5 / 20
    assert bootstrap_interval([0.0, 1.0] * 8) == few
    assert bootstrap_interval([1.0]) == (1.0, 1.0)
    assert all(math.isnan(end) for end in (*bootstrap_interval([]), *bootstrap_interval([1.0, math.nan])))


@pytest.mark.parametrize(("first", "second", "chance"), [(0, 0, 1.0), (3, 3, 1.0), (0, 5, 0.0625), (2, 8, 0.109375)])
def test_the_exact_test_of_mcnemar(first: int, second: int, chance: float) -> None:
    assert mcnemar_p_value(first, second) == pytest.approx(chance)
    assert mcnemar_p_value(second, first) == pytest.approx(chance)


def test_two_evaluations_are_compared_problem_by_problem() -> None:
    first = evaluation(a="pf", b="ff", c="pp", only_here="p")
    found = pair(first, evaluation(a="pp", b="fp", c="fp", d="p"))
    assert (found.problems, found.better, found.worse) == (3, ("a", "b"), ("c",))
    assert found.difference == {1: pytest.approx(1 / 6)}
    low, high = found.intervals[1]
    assert low < 1 / 6 < high
    assert found.p_value == 1.0


@pytest.mark.parametrize("others", [{"b": "p"}, {"a": "i"}])
def test_evaluations_with_nothing_in_common_cannot_be_compared(others: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match="no problem with counted samples in common"):
        pair(evaluation(a="p"), evaluation(**others))
