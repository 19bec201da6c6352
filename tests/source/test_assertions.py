"""Selecting a model's assertions that are Python, call the function, and contradict no other."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.source.test_edits import useful_assertions


@pytest.mark.parametrize(
    "text",
    [
        "assert f(1) == 2",
        "assert f([]) is None",
        "assert 2 == f(1)",
        "assert f(1)",
        "assert not f(1)",
        "assert abs(f(1) - 0.5) < 1e-06",
        "assert sorted(f([2, 1])) == [1, 2]",
        "assert f(1) == 2, 'a message'",
        "assert f('a\\nb') == 'c'",
        "assert f(f(1)) == 3",
    ],
)
def test_an_assertion_about_the_function_is_kept_unchanged(text):
    assert useful_assertions([text], "f") == (text,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "f(1) == 2",
        "assert f(1) ==",
        "assert g(1) == 2",
        "assert other.f(1) == 2",
        "assert True",
        "assert f",
        "assert f(1) == f(1)",
        "for x in range(3):\n    assert f(x) == x",
        "assert f(1) == 2\x00",
        "assert f('\ud800') == 2",
        "assert f(" + "1 + " * 20_000 + "1) == 2",
        "assert f(" + "(" * 500 + ")" * 500 + ") == 2",
        "assert f(1) == 2  # " + "x" * 1_000_000,
    ],
)
def test_assertions_that_do_not_test_the_function_are_dropped(text):
    assert useful_assertions([text, "assert f(9) == 9"], "f") == ("assert f(9) == 9",)


def test_a_text_may_hold_several_assertions_and_other_statements():
    text = "# the ordinary case\nimport math\nassert f(1) == 2; assert f(2) == 3"
    assert useful_assertions([text], "f") == ("assert f(1) == 2", "assert f(2) == 3")


@pytest.mark.parametrize(
    "same",
    [
        ["assert f(1) == 2", "assert f(1)  ==  2"],
        ["assert f(1) == 2", "assert 2 == f(1)"],
        ["assert f('a') == 'b'", 'assert f("a") == "b"'],
        ["assert f(1) == 2", "assert f(1) == 2, 'said again'"],
        ["assert f(\n    1,\n) == 2", "assert f(1) == 2"],
    ],
)
def test_repeated_assertions_are_kept_once(same):
    assert len(useful_assertions(same, "f")) == 1


@pytest.mark.parametrize(
    "pair",
    [
        ["assert f(1) == 2", "assert f(1) == 3"],
        ["assert f(1) == 2", "assert 3 == f(1)"],
        ["assert f(1) == 2", "assert f(1) != 2"],
        ["assert f(1) == 2", "assert not f(1)"],
        ["assert f(1) == []", "assert f(1)"],
        ["assert f(1) is True", "assert f(1) is False"],
        ["assert f(1)", "assert not f(1)"],
        ["assert f(1, k=2) == 'a'", "assert f(1,k = 2) == 'b'"],
    ],
)
def test_contradicting_assertions_are_both_dropped(pair):
    assert useful_assertions([*pair, "assert f(9) == 9"], "f") == ("assert f(9) == 9",)


@pytest.mark.parametrize(
    "pair",
    [
        ["assert f(1) == 2", "assert f(2) == 3"],
        ["assert f(1) == 2", "assert f('1') == 3"],
        ["assert f(1) == 2", "assert f(1) != 3"],
        ["assert f(1) == 2", "assert f(1)"],
        ["assert f(1) == 0", "assert not f(1)"],
        ["assert f(1) != 2", "assert f(1) != 3"],
        ["assert f(1) == 2", "assert f(1) == 2.0"],
        ["assert f(1) == 2", "assert f(1) > 0"],
    ],
)
def test_compatible_assertions_are_both_kept(pair):
    assert useful_assertions(pair, "f") == tuple(pair)


@given(st.lists(st.text() | st.from_regex(r"assert (not )?f\([0-3]\)( (==|!=|is) [0-3])?", fullmatch=True)))
def test_every_assertion_kept_is_a_python_assert_that_calls_the_function(texts):
    chosen = useful_assertions(texts, "f")
    assert len(set(chosen)) == len(chosen)
    for line in chosen:
        (statement,) = ast.parse(line).body
        assert isinstance(statement, ast.Assert)
        assert "f(" in line
    assert useful_assertions(chosen, "f") == chosen
