"""What is done with fresh data is decided in one place, by the examination."""

from __future__ import annotations

import pytest

from flyteplugins_codegen.models.data import Drift, DriftReport
from flyteplugins_codegen.models.refresh import (
    Comparison,
    Examination,
    OutputDifference,
    Refresh,
    RefreshRules,
    Renewal,
)
from flyteplugins_codegen.models.run import Cause, ScriptRun, TestReport
from flyteplugins_codegen.stages.refresh.decide import (
    AskForApproval,
    Compare,
    Keep,
    Refuse,
    Regenerate,
    RepairEarlier,
    Replace,
    next_step,
)

PASSED = TestReport(runs=(ScriptRun(case="samples", status="exited", exit_code=0),))
CAUSE = Cause(kind="exception", message="KeyError: 'price'")
FAILED = TestReport(runs=(ScriptRun(case="samples", status="exited", exit_code=1, cause=CAUSE),))
MINOR = Drift(kind="row count", severity="minor", old="3", new="9")
RANGE = Drift(kind="range", column="price", severity="major", old="0 to 1", new="0 to 99")
GONE = Drift(kind="column removed", column="price", severity="major", old="double")


def examined(*drifts, report=PASSED, **more):
    return Examination(drifts=(DriftReport(sample="sales", drifts=drifts),), report=report, **more)


def refresh(examination, renewal=None, comparison=None, is_approved=None, **rules):
    return Refresh(
        rules=RefreshRules(**rules),
        examination=examination,
        renewal=renewal,
        comparison=comparison,
        is_approved=is_approved,
    )


@pytest.mark.parametrize(
    ("examination", "rules", "step"),
    [
        (examined(), {}, Keep(reason="nothing changed")),
        (examined(MINOR), {}, Keep(reason="what drifted is tolerated, and every check passes")),
        (examined(MINOR), {"drift": "none"}, RepairEarlier(reason=MINOR.text)),
        (examined(RANGE), {}, RepairEarlier(reason=RANGE.text)),
        (examined(RANGE), {"drift": "any"}, Keep(reason="what drifted is tolerated, and every check passes")),
        (examined(RANGE), {"tolerated": ("range",)}, Keep(reason="what drifted is tolerated, and every check passes")),
        (examined(RANGE), {"tolerated": ("price",)}, Keep(reason="what drifted is tolerated, and every check passes")),
        (
            examined(RANGE),
            {"tolerated": ("range price",)},
            Keep(reason="what drifted is tolerated, and every check passes"),
        ),
        (examined(RANGE), {"tolerated": ("range quantity",)}, RepairEarlier(reason=RANGE.text)),
        (examined(GONE), {}, Regenerate(reason=GONE.text)),
        (examined(report=FAILED), {"drift": "any"}, RepairEarlier(reason=CAUSE.summary)),
        (examined(GONE, report=FAILED), {}, Regenerate(reason=f"{CAUSE.summary}; {GONE.text}")),
        (examined(flaws=("sales: column 'a' is missing",)), {}, RepairEarlier(reason="sales: column 'a' is missing")),
        (examined(GONE, broken=("sales: mend me",)), {}, Refuse(reason="sales: mend me")),
    ],
)
def test_the_examination_decides(examination, rules, step):
    assert next_step(refresh(examination, **rules)) == step


RENEWED = Renewal(is_success=True, reason="the price is read as it is now")
NOTHING_FOUND = Renewal(is_success=False, reason="the budget is spent")


def differing(share):
    return Comparison(
        differences=(OutputDifference(data="the fresh data", output="total", difference=share, told="total: 1 -> 2"),)
    )


@pytest.mark.parametrize(
    ("comparison", "rules", "step"),
    [
        (differing(0.0), {}, Replace(reason=RENEWED.reason)),
        (differing(0.2), {"allowed_difference": 0.2}, Replace(reason=RENEWED.reason)),
        (
            differing(0.2),
            {"allowed_difference": 0.1},
            AskForApproval(reason="the outputs differ by 0.2, more than the allowed 0.1: total: 1 -> 2"),
        ),
        (differing(1.0), {"approval": "never"}, Replace(reason=RENEWED.reason)),
        (differing(0.0), {"approval": "always"}, AskForApproval(reason="every new solution is to be approved")),
        (
            Comparison(notes=("on it, it fails",)),
            {},
            AskForApproval(reason="nothing could be compared; on it, it fails"),
        ),
    ],
)
def test_outputs_that_differ_more_than_allowed_wait_for_approval(comparison, rules, step):
    assert next_step(refresh(examined(RANGE), RENEWED, **rules)) == Compare()
    assert next_step(refresh(examined(RANGE), RENEWED, comparison, **rules)) == step


def test_a_person_has_the_last_word():
    assert next_step(refresh(examined(RANGE), RENEWED, differing(1.0), is_approved=True)) == Replace(
        reason=RENEWED.reason
    )
    refused = next_step(refresh(examined(RANGE), RENEWED, differing(1.0), is_approved=False))
    assert refused == Keep(reason="the new solution was not approved")


@pytest.mark.parametrize(("report", "fits"), [(PASSED, True), (FAILED, False)])
def test_without_a_better_solution_the_old_one_stays_and_says_whether_it_fits(report, fits):
    step = next_step(refresh(examined(RANGE, report=report), NOTHING_FOUND))
    assert step == Keep(reason="no better solution was found: the budget is spent", fits=fits)
