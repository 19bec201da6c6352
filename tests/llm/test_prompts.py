from __future__ import annotations

from flyteplugins_codegen.llm.prompts import (
    FAILURE_LIMIT,
    Brief,
    describe_failure,
    describe_job,
    repair_messages,
    solution_messages,
    suite_messages,
)
from flyteplugins_codegen.models.candidate import Candidate, CodePlan, CodeSolution
from flyteplugins_codegen.models.profile import DataContext
from flyteplugins_codegen.models.report import Cause, ScriptRun, SuiteReport, TestOutcome, TestReport
from flyteplugins_codegen.models.request import Example, Request

REQUEST = Request(
    prompt="Sum the rain.",
    schema_text="mm is a float",
    constraints=("mm is positive",),
    inputs={"rain": "file", "threshold": "float"},
    outputs={"total": "float"},
    examples=(Example(inputs={"threshold": 1.0}, outputs={"total": 2.5}),),
    tests="def test_mine(): ...",
)
BRIEF = Brief(request=REQUEST, context=DataContext(text="rain: 3 rows"), installed=("polars",))
CANDIDATE = Candidate(
    plan=CodePlan(description="d", approach="a"),
    solution=CodeSolution(code="print('the code')\n", packages=("pandas",)),
    tests="def test_generated(): ...",
)


def test_both_authors_get_the_same_description_of_the_whole_job():
    job = describe_job(BRIEF)
    for part in (
        "Sum the rain.",
        "mm is a float",
        "mm is positive",
        "threshold (float)",
        "total (float)",
        "2.5",
        "polars",
    ):
        assert part in job
    assert "def test_mine" in job
    assert "rain: 3 rows" in job
    assert solution_messages(BRIEF)[1] == suite_messages(BRIEF)[1]


def test_the_tests_author_never_sees_code():
    text = "".join(message.content for message in suite_messages(BRIEF))
    assert "the code" not in text


def test_a_system_prompt_replaces_the_role_and_keeps_the_contract():
    ours = solution_messages(BRIEF)[0].content
    theirs = solution_messages(BRIEF.model_copy(update={"role": "You are a pirate."}))[0].content
    assert theirs.startswith("You are a pirate.")
    assert theirs.endswith(ours.split("\n\n", 1)[1])


def test_a_repair_shows_the_code_the_tests_and_what_is_installed():
    text = repair_messages(BRIEF, CANDIDATE, "it broke")[1].content
    for part in ("the code", "def test_generated", "Installed: pandas", "it broke"):
        assert part in text


def test_a_failure_shows_two_failing_tests_in_full_and_the_others_by_name():
    tests = tuple(
        TestOutcome(name=f"test_{letter}", outcome="failed", message=f"assert {letter}", traceback=f"line {letter}")
        for letter in "abcd"
    )
    suite = SuiteReport(
        origin="generated",
        expected=(*"abcd", "e"),
        tests=(*tests, TestOutcome(name="test_e", outcome="passed")),
        cause=Cause(kind="test_failed", subject="test_a", message="assert a"),
    )
    text = describe_failure(TestReport(suites=(suite,)))
    assert text.splitlines() == [
        "## The generated tests: 4 of 5 failed",
        "test_a: assert a",
        "line a",
        "test_b: assert b",
        "line b",
        "Also failed: test_c, test_d",
        "Passed: test_e",
    ]


def test_what_passed_is_not_told_and_what_failed_is_told_once():
    report = TestReport(
        runs=(
            ScriptRun(case="example 1", status="exited", exit_code=0),
            ScriptRun(
                case="samples",
                status="exited",
                exit_code=0,
                stderr="warning: no rows",
                cause=Cause(kind="missing_output", subject="total", message="nothing at /var/outputs/total"),
            ),
        )
    )
    assert describe_failure(report) == (
        "## The script on the samples: missing output (total)\nnothing at /var/outputs/total\n"
        "Its stderr: warning: no rows"
    )


def test_a_failure_is_bounded_whatever_a_program_prints():
    cause = Cause(kind="exception", message="x" * 100_000)
    report = TestReport(runs=(ScriptRun(case="samples", status="exited", cause=cause),))
    assert len(describe_failure(report)) < FAILURE_LIMIT + 100


def test_what_ended_a_suite_is_told_though_some_tests_had_failed_by_then():
    suite = SuiteReport(
        origin="generated",
        expected=("test_a", "test_b"),
        tests=(TestOutcome(name="test_a", outcome="failed", message="assert a"),),
        cause=Cause(kind="timed_out", subject="test_b", message="test_b was running when the time was up"),
    )
    assert "when the time was up" in describe_failure(TestReport(suites=(suite,)))
