"""A confidence grows with each kind of evidence, shrinks with each doubt, and is never certainty."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import NAMES, attempt, crashed, judged, ran, suite

from flyteplugins_codegen.models.job import Request, Sample
from flyteplugins_codegen.models.reference import REFERENCE_FILE, OutputsDiffer, ReferenceReport
from flyteplugins_codegen.models.run import Attempt, DroppedTest, Run, TestReport, TestStrength
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.stages.candidates.confidence import WEIGHTS, Features, confidence_in, probability

DIFFERS = OutputsDiffer(
    case="sales cut to its first row", output_name="total", solution_answer="1", reference_answer="2"
)
AGAINST = {"unsettled", "dissenting", "repairs", "is_blind"}


def confidence(*attempts: Attempt, of: int = 1, dropped: tuple[DroppedTest, ...] = (), **settings: Any) -> float | None:
    run = Run(
        settings=Settings(model="openai/m", **settings),
        request=Request(prompt="p"),
        attempts=attempts,
        dropped_tests=dropped,
    )
    return confidence_in(run, attempts[of - 1])


def known(*attempts: Attempt, **arguments: Any) -> float:
    value = confidence(*attempts, **arguments)
    assert value is not None
    return value


def compared(*agreed: str, unsettled: tuple[OutputsDiffer, ...] = (), **fields: Any) -> Attempt:
    reference = ReferenceReport(agreed=agreed, unsettled=unsettled)
    report = TestReport(runs=(ran(total=1),), suites=(suite(NAMES),), reference=reference)
    return attempt(1, report, **fields)


def test_stronger_tests_make_more_of_it_and_tests_that_every_wrong_version_passes_make_none():
    half = judged(1, 1, strength=TestStrength(share=0.5))
    assert known(half) < known(judged(1, 1, strength=TestStrength(share=1.0)))
    assert confidence(judged(1, 1, strength=TestStrength(share=0.0))) is None


def test_a_reference_that_agrees_makes_more_of_it_with_every_file():
    alone = known(judged(1, 1))
    assert alone < known(compared("samples")) < known(compared("samples", "rows shuffled", "rows doubled"))


def test_a_difference_that_the_description_leaves_open_makes_less_of_it():
    assert known(compared("samples", unsettled=(DIFFERS,))) < known(compared("samples"))


def test_a_reference_is_evidence_where_no_test_is():
    weak = compared("samples", strength=TestStrength(share=0.0))
    assert 0 < known(weak) < known(compared("samples", strength=TestStrength(share=1.0)))


def test_tests_whose_author_had_seen_the_solution_count_for_nothing():
    assert confidence(judged(1, 1), backend="agent") is None
    weak = judged(1, 1, strength=TestStrength(share=0.5))
    stronger = judged(2, 1, code="print(1)", action="strengthen_tests", parent=1, strength=TestStrength(share=1.0))
    assert confidence(weak, stronger, of=2) == pytest.approx(known(weak))


def test_drafts_that_do_the_same_make_more_of_it_and_others_less():
    alone = known(judged(1, 1))
    assert alone < known(judged(1, 1), judged(2, 1)) < known(judged(1, 1), judged(2, 1), judged(3, 1))
    assert known(judged(1, 1), judged(2, 3), judged(3, 2)) < known(judged(1, 1), judged(2, 3)) < alone


def test_a_draft_that_fails_a_check_of_the_user_has_no_vote():
    assert confidence(judged(1, 1), crashed(2)) == confidence(judged(1, 1))


def test_a_draft_whose_outputs_cannot_be_compared_has_no_vote():
    pictures = [judged(number, {"size_bytes": 9, "sha256": str(number)}) for number in (1, 2, 3)]
    assert confidence(*pictures) == confidence(judged(1, 1))
    same = [judged(number, {"size_bytes": 9, "sha256": "1"}) for number in (1, 2, 3)]
    assert known(*same) > known(judged(1, 1))


def test_there_is_no_confidence_in_a_draft_that_only_ran_on_the_samples():
    assert confidence(attempt(1, TestReport(runs=(ran(total=1),)))) is None


def test_a_script_that_never_ran_on_the_samples_has_less_of_it():
    sample = Sample(name="sales", file_name="sales.csv", size_bytes=9, digest="0" * 64)
    request = Request(prompt="p", samples=(sample,), inputs={"sales": "file", "top": "int"})
    blind, seen = TestReport(suites=(suite(NAMES),)), TestReport(runs=(ran(total=1),), suites=(suite(NAMES),))
    values = []
    for report in (blind, seen):
        run = Run(settings=Settings(model="openai/m"), request=request, attempts=(attempt(1, report),))
        values.append(confidence_in(run, run.attempts[0]))
    assert values[0] < values[1]


def test_there_is_no_confidence_in_a_candidate_that_failed():
    assert confidence(judged(1, 1, NAMES[:2])) is None
    assert confidence(crashed(1)) is None


def test_every_example_and_every_test_of_the_users_makes_more_of_it():
    generated = known(judged(1, 1))
    one = TestReport(runs=(ran("example 1", total=1), ran(total=3)), suites=(suite(NAMES),))
    two = TestReport(runs=(ran("example 1", total=1), ran("example 2", total=2), ran(total=3)), suites=(suite(NAMES),))
    mine = TestReport(runs=two.runs, suites=(suite(NAMES, origin="user"), suite(NAMES)))
    assert generated < known(attempt(1, one)) < known(attempt(1, two)) < known(attempt(1, mine))


def test_each_repair_of_the_solution_counts_against_it_and_none_of_a_test_does():
    repaired = judged(2, 1, code="print(2)", action="repair", parent=1)
    assert known(judged(1, 2, ()), repaired, of=2) < known(judged(1, 1))
    mended_test = judged(2, 1, code="print(1)", action="repair", parent=1)
    assert known(judged(1, 2, (), code="print(1)"), mended_test, of=2) == pytest.approx(known(judged(1, 1)))


def test_the_draft_that_a_candidate_comes_from_is_no_vote_for_it():
    again = judged(2, 1, code="print(1)", action="add_packages", parent=1)
    assert confidence(crashed(1), again, of=2) == confidence(judged(1, 1))


def test_tests_of_which_some_were_dropped_count_for_nothing_and_rivals_are_compared_as_they_were_judged():
    drafts = [judged(number, 1, NAMES[:2], code="print(1)", round_number=1) for number in (1, 2)]
    report = TestReport(runs=(ran(total=1),), suites=(suite(NAMES[:2], NAMES[:2]),))
    chosen = attempt(3, report, code="print(1)", action="drop_tests", parent=1, round_number=2)
    dropped = (DroppedTest(name="test_c", reason="outvoted", attempt=1),)
    assert known(*drafts, chosen, of=3, dropped=dropped) == pytest.approx(probability(Features(agreeing=1.0)))


def test_a_dropped_reference_says_nothing_about_the_tests():
    dropped = (DroppedTest(name=REFERENCE_FILE, reason="outvoted", attempt=1),)
    assert confidence(judged(1, 1), dropped=dropped) == confidence(judged(1, 1))


@given(st.tuples(*(st.floats(0, 1e6) for _ in Features._fields)), st.sampled_from(Features._fields))
def test_a_confidence_is_between_0_and_1_and_no_evidence_makes_less_of_it(values, name):
    features = Features(*values)
    value, more = probability(features), probability(features._replace(**{name: getattr(features, name) + 1}))
    assert 0 < value < 1
    assert more <= value if name in AGAINST else more >= value


@pytest.mark.parametrize("name", Features._fields)
def test_every_weight_has_the_sign_of_what_it_weighs(name):
    assert getattr(WEIGHTS, name) * (-1 if name in AGAINST else 1) > 0
