"""The page of a refresh shows the decision and its reason. All text from data or a model is escaped."""

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
from flyteplugins_codegen.stages.refresh.page import render_refresh

PLANTED = "<script>alert(1)</script>"
RUN = ScriptRun(
    case=PLANTED, status="exited", exit_code=1, stderr=PLANTED, cause=Cause(kind="exception", message=PLANTED)
)
DRIFT = Drift(kind="range", column=PLANTED, severity="major", old=PLANTED, new=PLANTED, psi=0.5)
FOUND = Examination(
    drifts=(DriftReport(sample=PLANTED, drifts=(DRIFT,)),),
    flaws=(PLANTED,),
    report=TestReport(runs=(RUN,)),
    notes=(PLANTED,),
)
MADE = Renewal(is_success=True, reason=PLANTED, model_calls=3, tokens=1234, cost_usd=0.01)
COMPARED = Comparison(
    differences=(OutputDifference(data=PLANTED, output=PLANTED, difference=0.25, told=PLANTED),), notes=(PLANTED,)
)


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({}, "repairing"),
        ({"examination": FOUND.model_copy(update={"broken": (PLANTED,)})}, "data refused"),
        ({"renewal": MADE}, "comparing"),
        ({"renewal": MADE.model_copy(update={"is_success": False})}, "kept"),
        ({"renewal": MADE, "comparison": COMPARED}, "waits for approval"),
        ({"renewal": MADE, "comparison": COMPARED, "is_approved": True}, "replaced"),
    ],
)
def test_the_page_shows_the_decision_and_escapes_everything(fields: dict[str, object], verdict: str) -> None:
    refresh = Refresh(rules=RefreshRules(), examination=FOUND).model_copy(update=fields)
    page = render_refresh(PLANTED, refresh)
    assert f">{verdict}</span>" in page
    assert "<script" not in page
    assert page.count("&lt;script&gt;") > 8
    assert "matters" in page
    assert ("1,234" in page) == ("renewal" in fields)
    assert ("beyond" in page) == ("comparison" in fields)
