"""The output of a test run is read by the counts at its end, and written so that other parsers read the same."""

from __future__ import annotations

import pytest

from flyteplugins_codegen.evaluation.eval_framework.snippets import (
    parse_unittest_output,
    render_unittest_output,
    unittest_merge_snippets,
)
from flyteplugins_codegen.models.run import Cause, SuiteReport, TestOutcome

OK = "Ran 3 tests in 0.001s\n\nOK"
FAILED = "Ran 3 tests in 0.001s\n\nFAILED (failures=1)"


@pytest.mark.parametrize(
    ("output", "is_success"),
    [
        (OK, True),
        (f"{OK} (skipped=1)\n", True),
        (f"the model said FAILED and Error: nothing\n{OK}", True),
        (f"{OK} (skipped=3)", False),
        ("Ran 0 tests in 0.000s\n\nOK", False),
        (FAILED, False),
        (f"{OK}\n{FAILED}", False),
        ("BOOKING is OK\nSegmentation fault", False),
        (f"{OK}\nTraceback (most recent call last):", False),
        ("", False),
    ],
)
def test_the_summary_at_the_end_decides(output: str, *, is_success: bool) -> None:
    assert parse_unittest_output(output).success is is_success


def report(*outcomes: str, cause: Cause | None = None) -> SuiteReport:
    tests = [
        TestOutcome.model_validate({"name": f"test_{number}", "outcome": outcome, "message": "OK, all of it is OK"})
        for number, outcome in enumerate(outcomes)
    ]
    return SuiteReport(origin="user", tests=tuple(tests), cause=cause, output="OK")


CAUSE = Cause(kind="timed_out", message="it had not ended after 1 s")


@pytest.mark.parametrize(
    ("result", "last_line"),
    [
        (report("passed", "passed"), "OK"),
        (report("passed", "skipped"), "OK (skipped=1)"),
        (report("passed", "failed", cause=CAUSE), "FAILED (failures=1)"),
        (report("error", "missing", "failed", "skipped", cause=CAUSE), "FAILED (failures=1, errors=2, skipped=1)"),
        (report("passed", cause=CAUSE), "FAILED (errors=1)"),
        (report(cause=CAUSE), "FAILED (errors=1)"),
    ],
)
def test_a_counted_suite_is_written_in_unittests_words(result: SuiteReport, last_line: str) -> None:
    text = render_unittest_output(result)
    assert text.splitlines()[-1] == last_line
    assert parse_unittest_output(text).success is result.passed
    # Anybody's search for the words finds the verdict too.
    assert ("OK" in text and "FAILED" not in text) is result.passed


def test_what_runs_the_tests_is_added_once() -> None:
    merged = unittest_merge_snippets("x = 1", "import unittest")
    assert merged.endswith("unittest.main()\n")
    assert unittest_merge_snippets("x = 1", merged).count("unittest.main()") == 1
