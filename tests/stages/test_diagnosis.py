"""Which part a repair should change, and which generated tests are certainly wrong."""

from __future__ import annotations

import pytest

from flyteplugins_codegen.llm.replies import RepairReply
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution, Example, Request
from flyteplugins_codegen.models.run import Attempt, Cause, Run, ScriptRun, SuiteReport, TestOutcome, TestReport
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.stages.actions import DropTests, Redraft, Repair
from flyteplugins_codegen.stages.attempts import carry_out
from flyteplugins_codegen.stages.diagnosis import suspect
from flyteplugins_codegen.stages.loop import next_action
from flyteplugins_codegen.stages.repair import apply_repair

TESTS = """\
from solution import main


def test_sum(tmp_path):
    path = tmp_path / "sales"
    path.write_text("a\\n1\\n2\\n")
    main(["--sales", str(path), "--limit", "5"])
    assert open("/var/outputs/total").read() == "4"


def test_other():
    main(["--sales", "x", "--limit", "1"])
    assert open("/var/outputs/total").read() == "1"
"""
LOCK = EnvironmentLock(python="3.11", platform="linux", digest="d")
OK = ScriptRun(case="samples", status="exited", exit_code=0)
BROKEN = Cause(kind="exception", message="ValueError: no")
FILE = "a\n1\n2\n"


def a_run(**request):
    inputs = {"sales": "file", "limit": "int"}
    asked = Request(prompt="p", inputs=inputs, outputs={"total": "int"}, **request)
    return Run(settings=Settings(model="openai/x"), request=asked)


def judged(*failed, message="assert '3' == '4'", runs=(OK,), users_cause=None):
    tests = tuple(TestOutcome(name=name, outcome="failed", message=message) for name in failed)
    cause = Cause(kind="test_failed", subject=failed[0], message=f"{failed[0]}: {message}") if failed else None
    suites = [SuiteReport(origin="generated", expected=("test_sum", "test_other"), tests=tests, cause=cause)]
    if users_cause:
        suites.insert(0, SuiteReport(origin="user", expected=("test_mine",), cause=users_cause))
    return TestReport(runs=runs, suites=tuple(suites))


def then(run, report, *, action="repair", code=None, tests=TESTS, **made):
    number = len(run.attempts) + 1
    solution = CodeSolution(code=code or f"x = {number}\n")
    candidate = Candidate(plan=CodePlan(description="d", approach="a"), solution=solution, tests=tests)
    attempt = Attempt(
        number=number,
        action=action,
        reason="r",
        candidate=candidate,
        environment=LOCK,
        report=report,
        cause=report.causes[0] if report.causes else None,
        round_number=number,
        **({"parent": number - 1} | made),
    )
    return run.model_copy(update={"attempts": (*run.attempts, attempt)})


def first(run, report, **fields):
    return then(run, report, action="first_draft", parent=None, **fields)


def test_the_first_repair_has_no_suspicion():
    run = first(a_run(), judged("test_sum"))
    assert next_action(run) == Repair(reason="test failed: test_sum: assert '3' == '4'")


@pytest.mark.parametrize(("changed", "blamed"), [("solution", "tests"), ("tests", "solution"), (None, "tests")])
def test_after_a_failure_came_back_the_other_part_is_to_blame(changed, blamed):
    run = then(first(a_run(), judged("test_sum")), judged("test_sum"), blame=changed)
    action = next_action(run)
    assert isinstance(action, Repair)
    assert action.blame == blamed
    assert "the same failure came back after attempt 2" in action.blame_reason


def test_a_failure_with_another_message_is_another_failure():
    run = then(first(a_run(), judged("test_sum")), judged("test_sum", message="assert '5' == '4'"), blame="solution")
    assert next_action(run).blame is None


def test_the_same_message_on_other_lines_is_the_same_failure():
    before = judged("test_sum", message='ValueError: no\n  File "/app/solution.py", line 3, in f\nsolution.py:3: x')
    after = judged("test_sum", message='ValueError: no\n  File "/app/solution.py", line 9, in f\nsolution.py:9: y')
    assert next_action(then(first(a_run(), before), after, blame="solution")).blame == "tests"


@pytest.mark.parametrize(
    ("report", "named"),
    [
        (judged("test_sum", runs=(ScriptRun(case="samples", status="exited", cause=BROKEN),)), "script on the samples"),
        (judged("test_sum", runs=(ScriptRun(case="example 1", status="exited", cause=BROKEN),)), "user's example 1"),
        (judged("test_sum", users_cause=BROKEN), "user's tests"),
    ],
)
def test_if_a_check_failed_that_is_right_by_definition_no_test_is_to_blame(report, named):
    run = then(first(a_run(), report), report, blame="solution")
    blame, reason = suspect(run, run.attempts[-1])
    assert blame == "solution"
    assert named in reason


FLAWED = Cause(kind="broken_tests", subject="test_solution.py", message="no test asserts anything", is_certain=True)


@pytest.mark.parametrize("changed", ["solution", "tests"])
def test_tests_that_fail_for_every_solution_are_to_blame(changed):
    report = TestReport(runs=(OK,), suites=(SuiteReport(origin="generated", expected=("test_a",), cause=FLAWED),))
    run = then(first(a_run(), report), report, blame=changed)
    blame, reason = suspect(run, run.attempts[-1])
    assert blame == "tests"
    assert "no test asserts anything" in reason
    only_code = RepairReply(cause="c", error_type="logic", code="y = 1\n")
    with pytest.raises(ValueError, match="give test_code"):
        apply_repair(run.attempts[-1], only_code)
    assert apply_repair(run.attempts[-1], only_code.model_copy(update={"test_code": "def test_b(): ..."})).tests


def test_after_two_repairs_of_one_candidate_comes_a_redraft_which_may_be_repaired_again():
    report = judged("test_sum", "test_other")
    run = then(then(first(a_run(), report), report), report)
    action = next_action(run)
    assert isinstance(action, Redraft)
    assert action.count == 3
    assert isinstance(next_action(then(run, report, action="fresh_draft", parent=None)), Repair)


def drop(run):
    action = next_action(run)
    assert isinstance(action, DropTests)
    return {test.name: test.reason for test in action.tests}


def test_a_test_that_expects_something_else_of_an_example_s_inputs_is_dropped():
    example = Example(inputs={"sales": FILE, "limit": 5}, outputs={"total": 3})
    run = first(a_run(examples=(example,)), judged("test_sum"))
    assert drop(run) == {"test_sum": "it expects something else of the inputs of example 1, which holds"}
    after = carry_out(run, next_action(run))
    assert [test.name for test in after.dropped_tests] == ["test_sum"]
    assert after.attempts[-1].action == "drop_tests"
    assert "it expects something else" in after.attempts[-1].reason
    assert (
        after.attempts[-1].candidate.tests
        == TESTS.replace(TESTS[TESTS.index("def test_sum") :], "") + (TESTS[TESTS.index("def test_other") :])
    )


@pytest.mark.parametrize(
    "example",
    [
        Example(inputs={"sales": FILE, "limit": 6}, outputs={"total": 3}),
        Example(inputs={"sales": "a\n1\n", "limit": 5}, outputs={"total": 3}),
        Example(inputs={"limit": 5}, outputs={"total": 3}),
    ],
)
def test_a_test_of_other_inputs_than_any_example_s_is_not_dropped(example):
    assert isinstance(next_action(first(a_run(examples=(example,)), judged("test_sum"))), Repair)


def test_a_test_whose_failure_is_no_comparison_says_nothing_against_an_example():
    example = Example(inputs={"sales": FILE, "limit": 5}, outputs={"total": 3})
    run = first(a_run(examples=(example,)), judged("test_sum", message="ValueError: no"))
    assert isinstance(next_action(run), Repair)


@pytest.mark.parametrize(
    ("change", "message", "reason"),
    [
        (
            ("/var/outputs/total", "/var/outputs/total.txt"),
            "FileNotFoundError: [Errno 2] No such file or directory: '/var/outputs/total.txt'",
            "it reads /var/outputs/total.txt, which is no declared output",
        ),
        (('"--limit", "5"', '"--most", "5"'), "SystemExit: 2", "it passes --most, which is no declared input"),
    ],
)
def test_a_test_of_what_nobody_declared_is_dropped(change, message, reason):
    run = first(a_run(), judged("test_sum", message=message), tests=TESTS.replace(*change, 1))
    assert drop(run) == {"test_sum": reason}


def test_a_test_that_most_independent_candidates_contradict_in_the_same_way_is_dropped():
    report = judged("test_sum")
    run = then(then(first(a_run(), report), report), report)
    run = then(run, report, action="fresh_draft", parent=None)
    assert drop(run) == {"test_sum": "2 of 2 independent candidates contradict it alike, and do all else right"}


@pytest.mark.parametrize(
    "other",
    [
        judged("test_sum", message="assert '9' == '4'"),
        judged("test_sum", runs=(ScriptRun(case="samples", status="exited", cause=BROKEN),)),
    ],
)
def test_candidates_that_fail_differently_or_fail_more_are_no_majority(other):
    report = judged("test_sum")
    run = then(first(a_run(), other), report, action="fresh_draft", parent=None)
    assert isinstance(next_action(run), Repair)


def test_the_same_code_twice_is_one_candidate():
    report = judged("test_sum")
    run = then(first(a_run(), report, code="x = 0\n"), report, action="fresh_draft", parent=None, code="x = 0\n")
    assert isinstance(next_action(run), Repair)


def test_the_last_test_stays_if_nothing_else_could_judge():
    report = judged("test_sum")
    only = TESTS[: TESTS.index("def test_other")]
    run = then(first(a_run(), report, tests=only), report, action="fresh_draft", parent=None, tests=only)
    assert isinstance(next_action(run), Repair)
    with_example = run.model_copy(
        update={"request": a_run(examples=(Example(inputs={"limit": 9}, outputs={"total": 1}),)).request}
    )
    assert isinstance(next_action(with_example), DropTests)
    assert carry_out(with_example, next_action(with_example)).attempts[-1].candidate.tests is None
