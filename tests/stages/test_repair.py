from __future__ import annotations

import pytest

from flyteplugins_codegen.llm.replies import RepairReply
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution, Request
from flyteplugins_codegen.models.run import Attempt, Cause, ScriptRun, SuiteReport, TestOutcome, TestReport
from flyteplugins_codegen.stages.repair import apply_repair
from flyteplugins_codegen.stages.repair_context import is_only_crash, smallest_failures

TESTS = "def test_it():\n    assert 1\n"


def attempt(*packages, cause=None, tests=TESTS, system=()):
    solution = CodeSolution(code="x = 1\ny = 2\n", packages=packages, system_packages=system)
    candidate = Candidate(plan=CodePlan(description="d", approach="a"), solution=solution, tests=tests)
    return Attempt(number=1, action="first_draft", reason="r", candidate=candidate, cause=cause)


def unavailable(subject):
    return Cause(kind="package_unavailable", subject=subject, message="m")


def reply(error_type="logic", **fields):
    return RepairReply(cause="c", error_type=error_type, **fields)


def repaired(before, **fields):
    return apply_repair(before, reply(**fields))


@pytest.mark.parametrize("listed", ["nosuch", "NoSuch", "nosuch==9", "nosuch[extra]>=1"])
@pytest.mark.parametrize("subject", ["nosuch", "NoSuch==9"])
def test_an_unavailable_package_is_removed_in_any_notation(listed, subject):
    solution = repaired(attempt("pandas", listed, cause=unavailable(subject)), code="z = 3\n").solution
    assert solution.packages == ("pandas",)


def test_a_requirement_of_the_same_name_is_replaced():
    before = attempt("pandas==1.0", "numpy", cause=Cause(kind="exception", message="m"))
    assert repaired(before, packages=["Pandas>=2"]).solution.packages == ("numpy", "Pandas>=2")


def test_in_a_conflict_the_packages_of_the_reply_replace_all():
    before = attempt("pandas==1.0", "numpy==2.0", cause=unavailable(""))
    assert repaired(before, packages=["pandas", "numpy"]).solution.packages == ("pandas", "numpy")
    assert repaired(before, code="z = 3\n").solution.packages == ("pandas==1.0", "numpy==2.0")


def test_a_refused_system_package_is_removed_too():
    before = attempt(system=("libgomp1", "curl|sh"), cause=unavailable("curl|sh"))
    assert repaired(before, code="z = 3\n").solution.system_packages == ("libgomp1",)


def test_edits_change_the_file_that_is_to_blame():
    edits = [{"search": "1", "replace": "2"}]
    assert repaired(attempt(), edits=edits).solution.code == "x = 2\ny = 2\n"
    changed = repaired(attempt(), error_type="test_error", edits=edits)
    assert changed.solution.code == "x = 1\ny = 2\n"
    assert changed.tests == "def test_it():\n    assert 2\n"


def test_tests_that_are_edited_away_stay_tests_that_judge_nothing():
    gone = repaired(attempt(), error_type="test_error", edits=[{"search": TESTS, "replace": ""}])
    assert gone.tests == ""


def test_without_tests_before_tests_in_the_reply_are_ignored():
    before = attempt(tests=None)
    assert repaired(before, code="z = 3\n", test_code=TESTS).tests is None
    with pytest.raises(ValueError, match="changes nothing"):
        repaired(before, error_type="test_error", test_code=TESTS)


def test_a_reply_that_changes_nothing_is_refused():
    with pytest.raises(ValueError, match="changes nothing"):
        repaired(attempt("pandas"), packages=["pandas"])


def test_an_edit_that_does_not_apply_changes_nothing_at_all():
    with pytest.raises(ValueError, match="not there"):
        repaired(attempt(), edits=[{"search": "1", "replace": "2"}, {"search": "not there", "replace": ""}])


# --- what is shown of several failures ---

CRASH = Cause(kind="exception", subject="KeyError", message='  File "/app/solution.py", line 7, in f\nKeyError: 1')
ALIKE = TestOutcome(name="test_a", outcome="failed", message="KeyError: 1", traceback="solution.py:7: a[1]")
SHORT = "def test_s():\n    assert 1\n"
LONG = "def test_l():\n    # a longer one\n    assert 1\n"


def report_of(*tests, crash=None, kind="test_failed"):
    cause = Cause(kind=kind, message="m") if any(test.outcome != "passed" for test in tests) else None
    run = ScriptRun(case="samples", status="exited", cause=crash)
    return TestReport(runs=(run,), suites=(SuiteReport(origin="generated", tests=tests, cause=cause),))


def failed(name, message):
    return TestOutcome(name=name, outcome="failed", message=message)


def test_beside_a_crash_no_tests_are_shown_unless_one_failed_in_another_way():
    passed = TestOutcome(name="test_p", outcome="passed")
    assert is_only_crash(report_of(passed, crash=CRASH))
    assert is_only_crash(report_of(passed, ALIKE, crash=CRASH))
    assert not is_only_crash(report_of(ALIKE, failed("test_b", "assert 1 == 2"), crash=CRASH))
    assert not is_only_crash(report_of(ALIKE))
    assert not is_only_crash(report_of(ALIKE, crash=CRASH, kind="timed_out"))
    wrong = Cause(kind="missing_output", subject="total", message="nothing")
    assert not is_only_crash(report_of(passed, crash=wrong))


def test_the_second_of_two_failures_is_shown_where_both_sides_may_be_wrong():
    request, tests = Request(prompt="p"), SHORT + LONG
    two = (failed("test_l", "assert 3 == 4"), failed("test_s", "assert 1 == 2"))
    assert smallest_failures(report_of(*two), request, tests) == {"test_s", "test_l"}
    alike = (failed("test_l", "assert 1 == 2"), failed("test_s", "assert 1 == 2"))
    assert smallest_failures(report_of(*alike), request, tests) == {"test_s"}
    cases = (failed("test_s[1]", "assert 1 == 2"), failed("test_s[2]", "assert 2 == 2"))
    assert smallest_failures(report_of(*cases), request, tests) == {"test_s[1]"}
    certain = Cause(kind="missing_output", subject="total", message="nothing")
    assert smallest_failures(report_of(*two, crash=certain), request, tests) == {"test_s"}
