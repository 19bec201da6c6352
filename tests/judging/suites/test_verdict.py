"""Verdicts on what was told, without running anything."""

from __future__ import annotations

import pytest

from flyteplugins_codegen.judging.suites.verdict import Charge, cross_check, gather_evidence, judge_suite, read_suite
from flyteplugins_codegen.models.run import SuiteOrigin

SOURCE = """
import unittest

def helper(): pass
def test_a(): assert True

if True:
    class TestBase:
        def test_b(self): assert True

class TestInherits(TestBase, unittest.TestCase):
    class TestInner:
        async def test_c(self): assert True

test_alias = helper
"""


def told(
    name: str, *, outcome: str = "passed", confirmed: tuple[str, ...] = (), failed: int = 0
) -> list[dict[str, object]]:
    name = f"test_solution.py::{name}"
    counts = {"confirmed": list(confirmed), "failed_assertions": failed}
    return [
        {"kind": "begun"},
        {"kind": "started", "name": name},
        {"kind": "finished", "name": name, "outcome": outcome, **counts},
        {"kind": "end", "status": "0"},
        {"kind": "exit", "status": 0},
    ]


def verdict(records: list[dict[str, object]], origin: SuiteOrigin = "user", source: str = SOURCE) -> str:
    suite = read_suite(source)
    evidence = cross_check(gather_evidence(records), suite)
    cause = judge_suite(Charge(evidence, (), origin, suite.may_skip))
    return cause.kind if cause else "passed"


def test_the_functions_of_a_test_are_its_own_and_inherited_ones() -> None:
    suite = read_suite(SOURCE)
    assert suite.functions_of("test_a[1]") == {"test_a"}
    assert suite.functions_of("TestInherits::test_b") == {"TestBase::test_b"}
    assert suite.functions_of("TestInherits::TestInner::test_c") == {"TestInherits::TestInner::test_c"}
    assert suite.functions_of("test_alias") == set()


def test_a_class_that_is_its_own_base_is_read_to_its_end() -> None:
    assert read_suite("class A(A): pass").functions_of("A::test_x") == set()


@pytest.mark.parametrize(
    ("name", "confirmed", "expected"),
    [
        ("test_a", ("test_a",), "passed"),
        ("test_a", (), "untrusted_report"),
        ("test_a", ("TestBase::test_b",), "untrusted_report"),
        ("test_a[1]", ("test_b", "test_a"), "passed"),
        ("TestInherits::test_b", ("TestBase::test_b",), "passed"),
        ("TestInherits::test_b", (), "untrusted_report"),
        ("test_alias", (), "passed"),
    ],
)
def test_a_pass_counts_if_a_function_of_the_test_confirmed_it(
    name: str, confirmed: tuple[str, ...], expected: str
) -> None:
    assert verdict(told(name, confirmed=confirmed)) == expected


def test_a_pass_with_a_failed_assertion_is_none() -> None:
    assert verdict(told("test_a", confirmed=("test_a",), failed=1)) == "test_failed"


def test_a_failure_need_not_confirm() -> None:
    assert verdict(told("test_a", outcome="failed")) == "test_failed"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", "test_failed"),
        ("@pytest.mark.skipif(True, reason='')\n", "passed"),
        ("from unittest import skip\n", "passed"),
        ("# skip, in words only\n", "test_failed"),
    ],
)
def test_a_skip_that_the_tests_do_not_speak_of_is_no_choice_of_the_user_s(line: str, expected: str) -> None:
    records = [*told("test_a", outcome="skipped")[:-2], *told("test_b", confirmed=("test_b",))]
    source = f"import pytest\ndef test_a(): pass\n{line}def test_b(): pass\n"
    assert verdict(records, "user", source) == expected
    assert verdict(records, "generated", source) == "test_failed"
