"""A pytest plugin: a test that is skipped fails. Loaded by `make test` when CI is set.

On a person's machine a test may lack what it needs and say so; where nobody reads the output, it must not pass for run.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

import pytest

ReportT = TypeVar("ReportT", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _failed_if_skipped((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _failed_if_skipped((yield))


def _failed_if_skipped(report: ReportT) -> ReportT:
    # An expected failure reports as skipped too; it did run.
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped where everything must run: {reason}"
    return report
