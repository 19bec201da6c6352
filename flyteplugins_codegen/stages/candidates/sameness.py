"""Whether two candidates did the same, told from their reports alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from flyteplugins_codegen.models.report import ScriptRun, SuiteReport, TestReport
from flyteplugins_codegen.sandbox.expectations import ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE

_JUDGING_KINDS = frozenset({"test_failed"})


def is_trusted(report: TestReport | None) -> bool:
    """Whether everything that the user gave is passed: examples, own tests, and the script on the samples."""
    if report is None or report.build_cause is not None or not (report.runs or report.suites):
        return False
    return all(run.passed for run in report.runs) and all(s.passed for s in report.suites if s.origin == "user")


def same_outputs(one: TestReport, other: TestReport) -> bool:
    """Whether every run of the script left the same outputs: floats within a tolerance, files by what they read as.

    What cannot be told does not count: see `can_be_compared`.
    """
    return differing_run(one, other) is None


def differing_run(one: TestReport, other: TestReport) -> tuple[ScriptRun, ScriptRun] | None:
    """The first run of the script on which two candidates left other outputs, as either had it."""
    others = {run.case: run for run in other.runs}
    pairs = ((run, others[run.case]) for run in one.runs if run.case in others)
    return next((pair for pair in pairs if differing_output(*pair) is not None), None)


def differing_output(one: ScriptRun, other: ScriptRun) -> str | None:
    """The name of the first output that is not the same in two runs."""
    names = dict.fromkeys([*one.outputs, *other.outputs])
    return next((name for name in names if _are_same(one.outputs.get(name), other.outputs.get(name)) is False), None)


def can_be_compared(one: TestReport, other: TestReport) -> bool:
    """Whether any output of two candidates says anything of whether they did the same."""
    others = {run.case: run for run in other.runs}
    return any(
        _are_same(value, others[run.case].outputs.get(name)) is not None
        for run in one.runs
        if run.case in others
        for name, value in run.outputs.items()
    )


def passed_tests(report: TestReport) -> tuple[str, ...]:
    """The generated tests that were passed; none of a suite whose verdict is not its tests' own."""
    return tuple(
        test.name
        for suite in _generated(report)
        if suite.cause is None or suite.cause.kind in _JUDGING_KINDS
        for test in suite.tests
        if test.outcome == "passed"
    )


def failed_tests(report: TestReport) -> tuple[str, ...]:
    """The generated tests that were not passed. A suite that failed as a whole goes by the name of its cause."""
    passed = set(passed_tests(report))
    names = [name for suite in _generated(report) for name in suite.expected if name not in passed]
    whole = [suite.cause.kind for suite in _generated(report) if suite.cause is not None]
    return tuple(names) or tuple(whole)


def is_judged_by_tests(report: TestReport) -> bool:
    """Whether the generated tests that failed did so one by one, each of them a verdict of its own."""
    return all(suite.cause is None or suite.cause.kind in _JUDGING_KINDS for suite in _generated(report))


def _generated(report: TestReport) -> Iterator[SuiteReport]:
    return (suite for suite in report.suites if suite.origin == "generated")


def _are_same(one: JsonValue, other: JsonValue) -> bool | None:
    """None of files that are no text and have other bytes: a picture or a workbook may be the same all the same."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        if "text_sha256" in one and "text_sha256" in other:
            return one["text_sha256"] == other["text_sha256"]
        is_binary = "text_sha256" not in one and "text_sha256" not in other
        return True if one.get("sha256") == other.get("sha256") else None if is_binary else False
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
    return type(one) is type(other) and one == other
