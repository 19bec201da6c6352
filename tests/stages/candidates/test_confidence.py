"""A confidence is made of votes for and against, each counted once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import NAMES, attempt, crashed, judged, ran, suite

from flyteplugins_codegen.models.job import Request, Sample
from flyteplugins_codegen.models.run import Attempt, DroppedTest, Run, TestReport, TestStrength
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.stages.candidates.explain import Votes, confidence_in


def confidence(*attempts: Attempt, of: int = 1, dropped: tuple[DroppedTest, ...] = (), **settings: Any) -> float | None:
    run = Run(
        settings=Settings(model="openai/m", **settings),
        request=Request(prompt="p"),
        attempts=attempts,
        dropped_tests=dropped,
    )
    return confidence_in(run, attempts[of - 1])


def test_a_first_draft_that_passes_generated_tests_alone_has_one_vote_for_it():
    assert confidence(judged(1, 1)) == pytest.approx(2 / 3)


def test_tests_that_most_wrong_versions_pass_are_a_weak_vote_and_none_if_all_do():
    half = judged(1, 1, strength=TestStrength(share=0.5))
    assert confidence(half) == pytest.approx(1.5 / 2.5)
    assert confidence(judged(1, 1, strength=TestStrength(share=0.0))) is None


def test_tests_whose_author_had_seen_the_solution_are_no_vote():
    assert confidence(judged(1, 1), backend="agent") is None
    weak = judged(1, 1, strength=TestStrength(share=0.5))
    stronger = judged(2, 1, action="strengthen_tests", parent=1, strength=TestStrength(share=1.0))
    assert confidence(weak, stronger, of=2) == pytest.approx(1.5 / 2.5)


def test_drafts_that_do_the_same_vote_for_it_and_others_against():
    assert confidence(judged(1, 1), judged(2, 1), judged(3, 1)) == pytest.approx(4 / 5)
    assert confidence(judged(1, 1), judged(2, 1), judged(3, 2)) == pytest.approx(3 / 5)
    assert confidence(judged(1, 1), judged(2, 3), judged(3, 2)) == pytest.approx(2 / 5)


def test_a_draft_that_fails_a_check_of_the_user_has_no_vote():
    assert confidence(judged(1, 1), crashed(2)) == confidence(judged(1, 1))


def test_a_draft_whose_outputs_cannot_be_compared_has_no_vote():
    pictures = [judged(number, {"size_bytes": 9, "sha256": str(number)}) for number in (1, 2, 3)]
    assert confidence(*pictures) == confidence(judged(1, 1))
    same = [judged(number, {"size_bytes": 9, "sha256": "1"}) for number in (1, 2, 3)]
    assert confidence(*same) == pytest.approx(4 / 5)


def test_there_is_no_confidence_in_a_draft_that_only_ran_on_the_samples():
    assert confidence(attempt(1, TestReport(runs=(ran(total=1),)))) is None


def test_a_script_that_never_ran_on_the_samples_has_a_vote_against_it():
    sample = Sample(name="sales", file_name="sales.csv", size_bytes=9, digest="0" * 64)
    request = Request(prompt="p", samples=(sample,), inputs={"sales": "file", "top": "int"})
    blind, seen = TestReport(suites=(suite(NAMES),)), TestReport(runs=(ran(total=1),), suites=(suite(NAMES),))
    for report, expected in ((blind, 1 / 2), (seen, 2 / 3)):
        run = Run(settings=Settings(model="openai/m"), request=request, attempts=(attempt(1, report),))
        assert confidence_in(run, run.attempts[0]) == pytest.approx(expected)


def test_there_is_no_confidence_in_a_candidate_that_failed():
    assert confidence(judged(1, 1, NAMES[:2])) is None
    assert confidence(crashed(1)) is None


def test_every_example_and_every_test_of_the_users_is_a_vote():
    runs = (ran("example 1", total=1), ran("example 2", total=2), ran(total=3))
    suites = (suite(NAMES, origin="user"), suite(NAMES))
    assert confidence(attempt(1, TestReport(runs=runs, suites=suites))) == pytest.approx((2 + 3 + 1 + 1) / (6 + 2))


def test_each_repair_behind_a_candidate_counts_against_it():
    repaired = judged(2, 1, action="repair", parent=1)
    assert confidence(judged(1, 2, ()), repaired, of=2) == pytest.approx(2 / 4)


def test_the_draft_that_a_candidate_comes_from_is_no_vote_for_it():
    again = judged(2, 1, code="print(1)", action="add_packages", parent=1)
    assert confidence(crashed(1), again, of=2) == confidence(judged(1, 1))


def test_tests_of_which_some_were_dropped_are_no_vote_and_its_rivals_are_compared_as_they_were_judged():
    drafts = [judged(number, 1, NAMES[:2], code="print(1)", round_number=1) for number in (1, 2)]
    report = TestReport(runs=(ran(total=1),), suites=(suite(NAMES[:2], NAMES[:2]),))
    chosen = attempt(3, report, code="print(1)", action="drop_tests", parent=1, round_number=2)
    dropped = (DroppedTest(name="test_c", reason="outvoted", attempt=1),)
    assert confidence(*drafts, chosen, of=3, dropped=dropped) == pytest.approx(2 / 3)


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_a_confidence_is_between_0_and_1_and_grows_with_the_votes_that_agree(agreeing, dissenting):
    value = Votes(agreeing=agreeing, dissenting=dissenting).confidence
    if value is None:
        assert agreeing == dissenting == 0
    else:
        assert 0 < value < 1
        more, less = (
            Votes(agreeing=agreeing + 1, dissenting=dissenting),
            Votes(agreeing=agreeing, dissenting=dissenting + 1),
        )
        assert less.confidence < value < more.confidence
