from __future__ import annotations

import pytest

from flyteplugins_codegen.llm.replies import RepairReply
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution
from flyteplugins_codegen.models.run import Attempt, Cause
from flyteplugins_codegen.stages.repair import apply_repair

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
