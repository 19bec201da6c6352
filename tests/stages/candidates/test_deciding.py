"""The loop's decisions about several candidates: how many, which one, and when to return none."""

from __future__ import annotations

from typing import Any

import pytest
from judged import NAMES, attempt, crashed, judged, ran

from flyteplugins_codegen.models.job import Request
from flyteplugins_codegen.models.run import Attempt, Run, TestReport, TestStrength
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import Budget, ModelCall, Usage
from flyteplugins_codegen.stages.actions import DropTests, Finish, FirstDraft, JudgeSideBySide, Redraft
from flyteplugins_codegen.stages.candidates.explain import final_attempt
from flyteplugins_codegen.stages.candidates.judge import distinct_pending, with_judged
from flyteplugins_codegen.stages.loop import next_action

CALL = ModelCall(purpose="solution", model="m", usage=Usage(input_tokens=900, output_tokens=100), cost_usd=0.5)


def run_of(*attempts: Attempt, calls: int = 0, **settings: Any) -> Run:
    return Run(
        settings=Settings(model="openai/m", **settings),
        request=Request(prompt="p"),
        attempts=attempts,
        calls=(CALL,) * calls,
    )


def in_vain() -> tuple[Attempt, ...]:
    """A first draft and two repairs, each of which failed in another way."""
    repaired = [judged(n, n, (), action="repair", parent=n - 1, round_number=n) for n in (2, 3)]
    return judged(1, 1, ()), *repaired


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({}, 1),
        ({"candidates": 4}, 4),
        ({"candidates": 4, "max_iterations": 3}, 3),
        ({"candidates": 4, "budget": Budget(max_calls=3)}, 2),
        ({"candidates": 4, "budget": Budget(max_calls=3), "skip_tests": True}, 3),
        ({"candidates": 4, "budget": Budget(max_calls=1)}, 1),
    ],
)
def test_as_many_first_candidates_are_asked_for_as_there_is_room_for(settings, count):
    assert next_action(run_of(**settings)) == FirstDraft(count=count)


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({}, 3),
        ({"candidates": 1}, 1),
        ({"candidates": 2}, 2),
        ({"max_iterations": 5}, 1),
        ({"budget": Budget(max_calls=7)}, 3),
        ({"budget": Budget(max_calls=6)}, 1),
        ({"budget": Budget(max_tokens=7_000)}, 3),
        ({"budget": Budget(max_tokens=6_999)}, 1),
        ({"budget": Budget(max_tokens=6_999), "candidates": 3}, 2),
        ({"budget": Budget(max_cost_usd=3.5)}, 3),
        ({"budget": Budget(max_cost_usd=3.0)}, 1),
    ],
)
def test_three_redrafts_follow_two_repairs_if_there_is_room_for_three_else_one(settings, count):
    action = next_action(run_of(*in_vain(), calls=4, **settings))
    assert isinstance(action, Redraft)
    assert action.count == count


def test_candidates_of_one_round_are_judged_together():
    run = run_of(*(attempt(number, None, environment=None) for number in (1, 2)))
    assert next_action(run) == JudgeSideBySide()


def test_equal_candidates_share_one_report():
    run = run_of(*(attempt(n, None, code=code, environment=None) for n, code in enumerate("aba", 1)), calls=5)
    alone = distinct_pending(run)
    assert [[attempt.number for attempt in one.attempts] for one in alone] == [[1], [2]]
    assert not any(one.calls for one in alone)
    reports = [TestReport(runs=(ran(total=total),)) for total in (1, 2)]
    done = [
        one.model_copy(update={"attempts": (one.attempts[0].model_copy(update={"report": report}),)})
        for one, report in zip(alone, reports, strict=True)
    ]
    assert [attempt.report for attempt in with_judged(run, done).attempts] == [reports[0], reports[1], reports[0]]


def test_tests_that_most_contradict_are_dropped_even_by_the_last_candidates_that_may_be_tried():
    drafts = [judged(number, total, NAMES[:passed]) for number, total, passed in ((1, 1, 2), (2, 1, 2), (3, 9, 1))]
    action = next_action(run_of(*drafts, max_iterations=3))
    assert isinstance(action, DropTests)
    assert [(test.name, test.attempt) for test in action.tests] == [("test_c", 1)]


def test_the_final_attempt_is_the_chosen_candidate_and_not_the_newest_that_passed():
    run = run_of(judged(1, 1, strength=TestStrength(share=1.0)), judged(2, 1), judged(3, 2))
    assert next_action(run) == Finish(success=True, reason="attempt 1 passed")
    assert final_attempt(run) == run.attempts[0]


def test_if_no_candidate_passes_the_users_checks_the_best_of_them_is_repaired():
    action = next_action(run_of(crashed(1), crashed(2)))
    assert action.reason.startswith("exception")
