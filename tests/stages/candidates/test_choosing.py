"""Candidates are grouped by behaviour, and one is chosen: by the user's checks, the majority, the tests, or none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import NAMES, attempt, crashed, judged, ran, suite

from flyteplugins_codegen.models.run import Attempt, Cause, TestReport
from flyteplugins_codegen.stages.candidates.choose import Choice, choose, group_attempts, score


def groups_of(*attempts: Attempt) -> list[tuple[int, ...]]:
    return [group.attempts for group in group_attempts(attempts)]


BEHAVIOURS = st.lists(
    st.tuples(st.sampled_from([1.0, 1.0 + 1e-12, 2.0, 3.0]), st.sets(st.sampled_from(NAMES)), st.booleans()),
    min_size=1,
    max_size=7,
)


@st.composite
def shuffled_rounds(draw: st.DrawFn) -> tuple[list[Attempt], list[Attempt]]:
    made = [
        judged(number, total, sorted(passed)) if runs else crashed(number)
        for number, (total, passed, runs) in enumerate(draw(BEHAVIOURS), 1)
    ]
    return made, draw(st.permutations(made))


@given(shuffled_rounds())
def test_the_order_of_the_attempts_changes_neither_the_groups_nor_the_choice(rounds):
    in_order, shuffled = rounds
    assert group_attempts(in_order) == group_attempts(shuffled)
    assert choose(in_order) == choose(shuffled)


@given(shuffled_rounds())
def test_every_attempt_that_passes_the_users_checks_is_in_one_group(rounds):
    in_order, _ = rounds
    trusted = [attempt.number for attempt in in_order if all(run.passed for run in attempt.report.runs)]
    assert sorted(number for group in group_attempts(in_order) for number in group.attempts) == trusted
    chosen = choose(in_order).attempt
    assert chosen in trusted if trusted else chosen is None


@given(st.integers(1, 50), st.integers(0, 50))
def test_a_score_grows_with_the_candidates_that_agree_and_with_the_tests_that_are_passed(size, passed):
    assert score(size + 1, passed) > score(size, passed)
    assert score(size, passed + 1) > score(size, passed)


@given(shuffled_rounds())
def test_one_more_candidate_in_the_best_group_leaves_it_the_best(rounds):
    in_order, _ = rounds
    groups = group_attempts(in_order)
    if groups:
        best = next(attempt for attempt in in_order if attempt.number == groups[0].attempts[0])
        joined = group_attempts([*in_order, best.model_copy(update={"number": 99})])
        assert joined[0].attempts == (*groups[0].attempts, 99)
        assert joined[0].score > groups[0].score


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        (1.0, 1.0 + 1e-12, True),
        (1.0, 1.001, False),
        ("NaN", "NaN", True),
        (1, True, False),
        ("a", "b", False),
        ({"sha256": "1", "text_sha256": "t"}, {"sha256": "2", "text_sha256": "t"}, True),
        ({"sha256": "1", "text_sha256": "t"}, {"sha256": "2", "text_sha256": "u"}, False),
        ({"sha256": "1"}, {"sha256": "1"}, True),
        ({"sha256": "1"}, {"sha256": "2"}, True),  # two pictures of the same may have other bytes
        ({"sha256": "1"}, {"sha256": "2", "text_sha256": "t"}, False),
        ({"files": {"a": 1}, "text_sha256": "1"}, {"files": {"a": 1}, "text_sha256": "2"}, False),
    ],
)
def test_outputs_are_compared_by_value_floats_within_a_tolerance_and_files_by_what_they_read_as(one, other, are_same):
    assert (len(groups_of(judged(1, one), judged(2, other))) == 1) is are_same


def test_a_candidate_that_fails_a_check_of_the_user_is_in_no_group_whatever_tests_it_passes():
    example = TestReport(runs=(ran("example 1", Cause(kind="wrong_output", message="no"), total=1),))
    users = TestReport(runs=(ran(total=1),), suites=(suite([], origin="user"), suite(NAMES)))
    assert groups_of(attempt(1, example), attempt(2, users), crashed(3), judged(4, 1)) == [(4,)]


def test_candidates_that_differ_only_on_an_example_are_no_group():
    reports = [TestReport(runs=(ran("example 1", log=log), ran(log="x"))) for log in ("a", "b", "a")]
    assert groups_of(*(attempt(number, report) for number, report in enumerate(reports, 1))) == [(1, 3), (2,)]


def choice(*attempts: Attempt) -> Choice:
    return choose(attempts)


def test_the_majority_is_chosen_if_it_passes_the_tests():
    result = choice(judged(1, 1), judged(2, 2), judged(3, 2))
    assert (result.attempt, result.is_undecided, result.outvoted) == (2, False, ())


def test_a_test_that_most_candidates_contradict_is_outvoted():
    result = choice(judged(1, 1, NAMES), judged(2, 2, NAMES[:2]), judged(3, 2, NAMES[:2]))
    assert (result.attempt, result.outvoted) == (2, ("test_c",))


def test_candidates_that_fail_most_tests_outvote_none():
    result = choice(judged(1, 1, NAMES), judged(2, 2, NAMES[:1]), judged(3, 2, NAMES[:1]))
    assert (result.attempt, result.outvoted, result.is_undecided) == (1, (), False)


def test_two_that_agree_and_pass_no_test_outvote_nothing():
    assert choice(judged(1, 2, ()), judged(2, 2, ())).outvoted == ()


def test_a_suite_that_failed_as_a_whole_is_not_outvoted():
    late = suite(NAMES[:2]).model_copy(update={"cause": Cause(kind="timed_out", message="120 s")})
    report = TestReport(runs=(ran(total=1),), suites=(late,))
    result = choice(attempt(1, report), attempt(2, report))
    assert (result.attempt, result.outvoted) == (1, ())
    assert not result.groups[0].passes_all


def test_the_tests_decide_between_candidates_that_all_differ():
    result = choice(judged(1, 1, NAMES[:1]), judged(2, 2), judged(3, 3, ()))
    assert (result.attempt, result.is_undecided) == (2, False)


@pytest.mark.parametrize("totals", [[1, 2], [1, 2, 3], [1, 1, 2, 2], [1, 1, 2, 3]])
def test_candidates_that_pass_everything_and_differ_without_a_majority_are_undecided(totals):
    result = choice(*(judged(number, total) for number, total in enumerate(totals, 1)))
    assert result.is_undecided
    assert len(result.groups) == len(set(totals))


def test_candidates_that_fail_a_test_have_no_vote_among_those_that_pass_all():
    result = choice(judged(1, 1), judged(2, 1), judged(3, 2), judged(4, 3, ()))
    assert (result.attempt, result.is_undecided) == (1, False)


def test_one_candidate_alone_is_decided_by_the_tests_and_outvotes_none():
    assert choice(judged(1, 1)).attempt == 1
    alone = choice(judged(1, 1, NAMES[:2]), crashed(2))
    assert (alone.attempt, alone.outvoted, alone.is_undecided) == (1, (), False)


def test_if_none_passes_the_users_checks_none_is_chosen():
    assert choice(crashed(1), crashed(2)) == Choice()


def test_the_shortest_script_represents_its_group():
    assert choice(judged(1, 1, code="print( 1 )"), judged(2, 1, code="print(1)")).attempt == 2
