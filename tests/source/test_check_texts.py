"""Splitting assertions into cases, and tests in HumanEval's form."""

from __future__ import annotations

from typing import Any

import pytest

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.source.test_edits import assertion_cases, require_check


@pytest.mark.parametrize(
    ("text", "cases"),
    [
        ("assert f(1) == 2\nassert f(2) == 3\n", ("assert f(1) == 2", "assert f(2) == 3")),
        (
            "import math\n\nassert f(math.pi)\nx = 2\nassert f(x)",
            ("import math\n\nassert f(math.pi)", "x = 2\nassert f(x)"),
        ),
        ("for x in [1, 2]:\n    assert f(x)\nassert f(3)", ("for x in [1, 2]:\n    assert f(x)", "assert f(3)")),
        ("assert f(1); assert f(2)\nassert f(3)", ("assert f(1); assert f(2)", "assert f(3)")),
        ("assert f(1) == (\n    2\n)\n\n# the end\ny = 1", ("assert f(1) == (\n    2\n)\n\n# the end\ny = 1",)),
        ("assert f('\f') == 1\r\nassert f(2)", ("assert f('\f') == 1", "assert f(2)")),
        ("x = 1", ()),
        ("", ()),
    ],
)
def test_each_checking_statement_is_a_case_with_its_preparation(text: str, cases: tuple[str, ...]) -> None:
    assert assertion_cases(text) == cases


@pytest.mark.parametrize("text", ["assert (", "\0", "assert f('\ud800')", "assert " + "(" * 1_000])
def test_assertions_that_are_not_python_are_refused(text: str) -> None:
    with pytest.raises(RequestError, match=r"the assertions.*Python"):
        assertion_cases(text)


@pytest.mark.parametrize("test", ["", "assert f(1)", "check = 1", "class check: pass"])
def test_a_test_must_define_check(test: str) -> None:
    require_check("import math\n\ndef check(candidate):\n    assert candidate(1)\n")
    with pytest.raises(RequestError, match=r"defines no function check\(candidate\)"):
        require_check(test)


@pytest.mark.parametrize("given", [None, 3, b"assert f(1)", ["assert f(1)"]])
def test_an_argument_that_is_not_a_str_is_named_by_its_type(given: Any) -> None:
    for read in (assertion_cases, require_check):
        with pytest.raises(ArgumentTypeError, match=type(given).__name__):
            read(given)


def test_what_would_take_gigabytes_to_parse_is_refused() -> None:
    for read in (assertion_cases, require_check):
        with pytest.raises(RequestError, match="10,200,000 characters, more than 1,000,000"):
            read("assert f(1) == 1\n" * 600_000)
