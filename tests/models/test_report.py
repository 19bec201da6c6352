from __future__ import annotations

import pytest

from flyteplugins_codegen.models.run import Cause, ScriptRun, SuiteReport, TestReport


def script(*isolation, cause=None):
    return ScriptRun(case="samples", status="exited", isolation=isolation, cause=cause)


@pytest.mark.parametrize(
    ("report", "isolation"),
    [
        (TestReport(), ()),
        (TestReport(runs=(script("network", "user"), script("user", "network"))), ("network", "user")),
        (
            TestReport(runs=(script("network", "user"),), suites=(SuiteReport(origin="user", isolation=("user",)),)),
            ("user",),
        ),
        (TestReport(runs=(script("none"),)), ("none",)),
    ],
)
def test_only_layers_that_every_run_had_count_as_isolation(report, isolation):
    assert report.isolation == isolation


def test_a_report_passes_only_when_something_ran_and_nothing_failed():
    failed = script(cause=Cause(kind="exception", message="no"))
    assert TestReport(runs=(script(),)).passed
    assert not TestReport().passed
    assert not TestReport(runs=(script(), failed)).passed
    assert not TestReport(runs=(script(),), build_cause=Cause(kind="syntax_error", message="no")).passed
