"""How far the outputs of two solutions differ."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.errors import SolutionFailedError
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import SolutionBundle
from flyteplugins_codegen.stages.refresh.compare import compare_solutions, file_difference, value_difference

LOCK = EnvironmentLock(python="3.11", platform="linux", digest="d")


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        (1, 1, 0),
        (100, 75, 0.25),
        (1.0, 1.0 + 1e-12, 0),
        (0.0, 5.6e-17, 0),
        (0.0, -0.0, 0),
        (0.0, 1e-6, 1),
        (1e-6, 2e-6, 0.5),
        (1, -1, 1),
        (0, 5, 1),
        (math.nan, math.nan, 0),
        (math.nan, 1.0, 1),
        (math.inf, 1.0, 1),
        (True, False, 1),
        (True, 1.0, 0),
        ("a", "b", 1),
        ("a", "a", 0),
    ],
)
def test_values_differ_by_a_share(old, new, difference):
    assert value_difference(old, new) == pytest.approx(difference)


@given(st.one_of(st.floats(), st.integers(), st.text(), st.booleans()), st.floats())
def test_a_difference_is_a_share_both_ways(one, other):
    assert 0 <= value_difference(one, other) <= 1
    assert value_difference(one, other) == value_difference(other, one)
    assert value_difference(one, one) == 0


@pytest.mark.parametrize(
    ("old", "new", "difference", "text"),
    [
        ("a,b\n1,2\n", "a,b\n1,2\n", 0, "the same bytes"),
        ("a,b\n1,2\n3,4\n", "b,a\n4,3.0\n2,1\n", 0, "the same 2 rows"),
        ("a,b\n1,0.3\n", "a,b\n1,0.30000000000000004\n", 0, "the same 1 rows"),
        ("a,b\n1,0.0\n1,-0.0\n", "a,b\n1,5.6e-17\n1,0.0\n", 0, "the same 2 rows"),
        ("a,b\n1,0.0\n", "a,b\n1,1e-6\n", 1, "1 -> 1 rows; 1 only in the old, 1 only in the new"),
        ("a,b\n1,2\n3,4\n", "a,b\n1,2\n3,5\n", 0.5, "2 -> 2 rows; 1 only in the old, 1 only in the new"),
        ("a,b\n1,2\n", "a,b\n1,2\n1,2\n3,4\n3,4\n", 0.75, "1 -> 4 rows; 0 only in the old, 3 only in the new"),
        ("a,b\n1,2\n", "a,c\n1,2\n", 1, "other columns: a, b -> a, c"),
        ("\0\1", "\0\2", 1, "other bytes, and no tables that could be compared"),
    ],
)
def test_tables_differ_by_the_rows_that_only_one_has(tmp_path, old, new, difference, text):
    (tmp_path / "old").write_text(old)
    (tmp_path / "new").write_text(new)
    assert file_difference(tmp_path / "old", tmp_path / "new") == (difference, text)


def test_folders_differ_by_their_files(tmp_path):
    for folder, second in (("old", "2"), ("new", "3")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a").write_text("a\n1\n")
        (tmp_path / folder / "b").write_text(f"a\n{second}\n")
    assert file_difference(tmp_path / "old", tmp_path / "new") == (0.5, "1 of 2 files differ")
    assert file_difference(tmp_path / "old", tmp_path / "old") == (0, "0 of 2 files differ")


def bundle(name, inputs=("table",)):
    return SolutionBundle(
        name=name, code="", lock=LOCK, inputs=dict.fromkeys(inputs, "file"), outputs={"n": "int"}, image="i"
    )


def test_what_cannot_be_run_is_noted_and_not_compared(tmp_path):
    def run(solution, inputs):
        if solution.name == "old solution" and inputs["table"].name == "fresh":
            raise SolutionFailedError("exception: KeyError\nIts stderr: ...")
        return {"n": 10 if solution.name == "old solution" else 9}

    data = {"the old data": {"table": tmp_path / "old"}, "the fresh data": {"table": tmp_path / "fresh"}}
    comparison = compare_solutions(bundle("old solution"), bundle("new solution"), data, run)
    assert comparison.largest == pytest.approx(0.1)
    assert comparison.differences[0].told == "n on the old data: 10 -> 9"
    assert comparison.notes == ("on the fresh data, the old solution does not run: exception: KeyError",)


def test_an_input_without_a_value_leaves_nothing_to_compare(tmp_path):
    both = [bundle(name, ("table", "limit")) for name in ("old solution", "new solution")]
    comparison = compare_solutions(*both, {"the fresh data": {"table": tmp_path}}, run=lambda *_: pytest.fail("it ran"))
    assert comparison.largest is None
    assert comparison.notes == ("nothing was run on the fresh data: there is no value for limit",)
