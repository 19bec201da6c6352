"""The input on which candidates differ: a run of the script if one shows it, else a test."""

from __future__ import annotations

from typing import Any

from judged import NAMES, attempt, judged, ran

from flyteplugins_codegen.models.job import Example, Request, Sample
from flyteplugins_codegen.models.run import Attempt, Disagreement, TestReport
from flyteplugins_codegen.stages.candidates.choose import group_attempts
from flyteplugins_codegen.stages.candidates.explain import find_disagreement

REQUEST = Request(
    prompt="p",
    samples=(Sample(name="sales", file_name="sales.csv", size_bytes=3, digest="d"),),
    examples=(Example(inputs={"n": 3}, outputs={"total": 1}),),
)


def disagreement(*attempts: Attempt) -> Disagreement:
    result = find_disagreement(REQUEST, group_attempts(attempts), attempts)
    assert result is not None
    return result


def answers(*attempts: Attempt) -> list[tuple[tuple[int, ...], str]]:
    return [(answer.attempts, answer.text) for answer in disagreement(*attempts).answers]


def a_file(text: str) -> dict[str, Any]:
    return {"size_bytes": len(text), "sha256": text, "text_sha256": text, "head": text}


def test_an_output_on_the_samples_is_listed_with_the_value_of_every_group():
    result = disagreement(judged(1, 7.5), judged(2, 8.0), judged(3, 8.0))
    assert (result.case, result.input) == ("samples", "sales=sales.csv")
    assert str(result) == (
        "candidates differ on samples (sales=sales.csv):\n  attempts 2, 3: total = 8.0\n  attempt 1: total = 7.5"
    )


def test_for_a_file_the_first_line_that_differs_is_listed():
    one, other = judged(1, a_file("a,b\n1,2\n")), judged(2, a_file("a,b\n1,3\n"))
    assert answers(one, other) == [((1,), "total, line 2: 1,2"), ((2,), "total, line 2: 1,3")]


def test_a_file_that_ends_before_the_other_has_no_such_line():
    assert answers(judged(1, a_file("a\n")), judged(2, a_file("a\nb\n"))) == [
        ((1,), "total, line 2: no such line"),
        ((2,), "total, line 2: b"),
    ]


def test_files_that_differ_after_their_stored_beginnings_are_listed_by_size_and_digest():
    one, other = ({**a_file(text), "head": "the same"} for text in ("x", "yy"))
    assert answers(judged(1, one), judged(2, other))[1] == ((2,), "total = a file of 2 bytes, sha256 yy")


def test_a_folder_is_listed_by_its_files():
    one, other = ({"files": {"a": n}, "count": 1, "sha256": str(n), "text_sha256": str(n)} for n in (1, 2))
    assert answers(judged(1, one), judged(2, other))[0] == ((1,), 'total = a folder of 1 files, {"a": 1}')


def test_an_example_is_named_by_its_inputs():
    reports = [TestReport(runs=(ran("example 1", log=log),)) for log in ("a", "b")]
    result = disagreement(*(attempt(number, report) for number, report in enumerate(reports, 1)))
    assert (result.case, result.input) == ("example 1", '{"n": 3}')


def test_candidates_that_differ_only_in_a_test_are_listed_with_the_test_and_its_source():
    result = disagreement(judged(1, 1, NAMES), judged(2, 1, NAMES[:2]))
    assert result.case == "test_c"
    assert result.input == "def test_c():\n    assert f(3) == 9"
    assert [(answer.attempts, answer.text) for answer in result.answers] == [((1,), "passed"), ((2,), "failed: no")]


def test_the_text_is_bounded():
    result = disagreement(*(judged(number, f"{number}" + "x" * 10_000) for number in range(1, 30)))
    assert len(result.answers) == 5
    assert len(str(result)) < 2_000


def test_candidates_that_do_the_same_do_not_disagree():
    attempts = [judged(1, 1), judged(2, 1)]
    assert find_disagreement(REQUEST, group_attempts(attempts), attempts) is None
