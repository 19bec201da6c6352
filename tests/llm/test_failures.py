"""The description of a failure for a model: the smallest case in full, bounded, whatever a program prints."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.llm.failures import (
    FAILURE_CHARS,
    LEARNT_TOKENS,
    describe_failure,
    describe_learnt,
    describe_lineage,
)
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution
from flyteplugins_codegen.models.run import Attempt, Cause, ScriptRun, SuiteReport, TestOutcome, TestReport

CANDIDATE = Candidate(plan=CodePlan(description="d", approach="a"), solution=CodeSolution(code="x = 1\n"))


def outcome(name, **fields):
    told = {"message": f"assert {name}", "traceback": f"test_solution.py:3: {name}()"}
    return TestOutcome(name=name, outcome="failed", **(told | fields))


def suite(*tests, **fields):
    cause = Cause(kind="test_failed", subject=tests[0].name, message=tests[0].message)
    expected = tuple(test.name for test in tests)
    return TestReport(suites=(SuiteReport(origin="generated", expected=expected, tests=tests, cause=cause, **fields),))


def attempt(number=1, report=None, **fields):
    told = {"action": "first_draft", "reason": "r", "cause": report.causes[0] if report else None}
    return Attempt(number=number, candidate=CANDIDATE, report=report, **(told | fields))


def script(**fields):
    return TestReport(runs=(ScriptRun(case="samples", status="exited", exit_code=1, **fields),))


def test_one_failed_test_is_told_in_full_and_the_others_by_name():
    inner = "solution.py:7: return a / b"
    tests = (
        outcome("test_a"),
        outcome("test_b", traceback=f"test_solution.py:3: f()\n{inner}", variables="in f, line 7: a = 1; b = 0"),
        outcome("test_c"),
        TestOutcome(name="test_d", outcome="passed"),
    )
    assert describe_failure(suite(*tests), {"test_b"}).splitlines() == [
        "## The generated tests: 3 of 4 failed",
        "test_b: assert test_b",
        inner,
        "Variables in f, line 7: a = 1; b = 0",
        "Also failed: test_a, test_c",
        "Passed: test_d",
    ]


def test_where_nothing_of_the_solution_was_running_the_test_s_own_line_is_told():
    assert "test_solution.py:3: test_a()" in describe_failure(suite(outcome("test_a")))


def test_what_passed_is_not_told_and_what_failed_is_told_once():
    cause = Cause(kind="missing_output", subject="total", message="nothing at /var/outputs/total")
    report = TestReport(
        runs=(
            ScriptRun(case="example 1", status="exited", exit_code=0),
            ScriptRun(
                case="samples",
                status="exited",
                exit_code=0,
                stderr=f"warning: no rows\nlauncher: {cause.message}\n",
                cause=cause,
            ),
        )
    )
    assert describe_failure(report) == (
        "## The script on the samples: missing output (total)\nnothing at /var/outputs/total\n"
        "Its stderr: warning: no rows"
    )


CRASH = Cause(
    kind="exception",
    subject="KeyError",
    message='Traceback (most recent call last):\n  File "/app/solution.py", line 7, in f\nKeyError: 1',
)


def crashed(*tests):
    return TestReport(runs=script(cause=CRASH).runs, suites=suite(*tests).suites if tests else ())


def test_tests_that_crashed_as_the_script_did_are_named_at_most():
    alike = {"message": "KeyError: 2", "traceback": "test_solution.py:3: f()\nsolution.py:7: return a[b]"}
    passed = TestOutcome(name="test_p", outcome="passed")
    text = describe_failure(crashed(outcome("test_a", **alike), outcome("test_b", **alike), passed), {"test_a"})
    assert text.splitlines()[-2:] == [
        "## The generated tests: 2 of 3 failed",
        "Failed by the same exception: test_a, test_b",
    ]
    assert "KeyError: 2" not in text


def test_tests_that_failed_in_another_way_than_the_script_are_told():
    elsewhere = {"message": "KeyError: 2", "traceback": "solution.py:9: return a[b]"}
    text = describe_failure(crashed(outcome("test_a", **elsewhere), outcome("test_b")))
    assert "test_a: KeyError: 2\nsolution.py:9: return a[b]" in text
    assert "Also failed: test_b" in text
    other = {"message": "ValueError: 2", "traceback": "solution.py:7: return a[b]"}
    assert "test_a: ValueError: 2" in describe_failure(crashed(outcome("test_a", **other)))


def test_frames_of_libraries_are_left_out_of_a_traceback():
    message = (
        "the script ended with exit status 1\nTraceback (most recent call last):\n"
        '  File "/app/solution.py", line 9, in main\n    read(path)\n    ~~~~^^^^^^\n'
        '  File ".../site-packages/pandas/io/parsers.py", line 1026, in read_csv\n    return _read(path)\n'
        "ValueError: no columns"
    )
    report = script(cause=Cause(kind="exception", message=message), variables="in main, line 9: path = 'x'")
    assert describe_failure(report).splitlines() == [
        "## The script on the samples: exception",
        "the script ended with exit status 1",
        "Traceback (most recent call last):",
        '  File "/app/solution.py", line 9, in main',
        "    read(path)",
        "ValueError: no columns",
        "Variables in main, line 9: path = 'x'",
    ]


def test_what_ended_a_suite_is_told_though_some_tests_had_failed_by_then():
    cause = Cause(kind="timed_out", subject="test_b", message="test_b was running when the time was up")
    report = TestReport(suites=(SuiteReport(origin="generated", tests=(outcome("test_a"),), cause=cause),))
    assert "when the time was up" in describe_failure(report)


def test_a_repair_is_told_where_to_look_and_what_was_tried_in_a_line_each():
    report = suite(outcome("test_a"))
    repaired = attempt(2, report, action="repair", reason="An edge.\nAt length.", blame="solution", parent=1)
    assert describe_lineage([attempt(1, report), repaired], look="test_solution.py: it came back.").splitlines()[
        -5:
    ] == [
        "## Where to look",
        "test_solution.py: it came back.",
        "",
        "## Tried before",
        "- The solution was changed: An edge. It then failed with test failed: assert test_a",
    ]


def test_what_was_learnt_is_each_failure_and_each_repair_once():
    report = suite(outcome("test_a"))
    again = attempt(2, report, action="repair", reason="An edge.", parent=1)
    assert describe_learnt([attempt(1, report), again]).splitlines() == [
        "- test failed: assert test_a",
        "- Tried in vain: An edge.",
    ]


@given(texts=st.lists(st.text(max_size=50).map(lambda text: text * 100), min_size=1, max_size=6))
def test_every_text_is_bounded_whatever_a_program_prints(texts):
    failed = [
        attempt(number, script(cause=Cause(kind="exception", message=text)), action="repair", reason=text)
        for number, text in enumerate(texts, 1)
    ]
    mark = 60  # of what is left out
    assert len(describe_lineage(failed, look="x")) <= FAILURE_CHARS + mark
    assert len(describe_learnt(failed)) <= 4 * LEARNT_TOKENS + mark
