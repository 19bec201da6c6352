"""eval-framework's two functions: one merges solution and tests, the other reads the output of a test run.

The output is unittest's: a line with the number of tests, then, as the last line, `OK` or `FAILED (...)`. Only these
lines count; a word elsewhere, such as the "OK" in "BOOKING", does not.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, NamedTuple

from flyteplugins_codegen.models.run import SuiteReport, TestOutcome

_SUMMARY: Final = re.compile(
    r"^Ran (?P<ran>\d+) tests? in [\d.]+s\s+(?P<verdict>OK|FAILED)(?P<rest>[^\n]*)\s*\Z", re.MULTILINE
)
_SKIPPED: Final = re.compile(r"skipped=(\d+)")
_RULE: Final = "-" * 70


class ExecutionResult(NamedTuple):
    """Whether the tests passed, and the output that shows it."""

    success: bool
    output: str


def unittest_merge_snippets(code: str, test_code: str) -> str:
    """The solution, then the tests, then a call of `unittest.main` unless the tests have one."""
    runs_itself = "unittest.main(" in test_code
    end = "" if runs_itself else "\n\nif __name__ == '__main__':\n    unittest.main()\n"
    return f"{code}\n\n{test_code}{end}"


def parse_unittest_output(output: str) -> ExecutionResult:
    """Read the summary that ends a run. A text that does not end with one is not a success, whatever else it has."""
    summary = _SUMMARY.search(output)
    if summary is None:
        return ExecutionResult(success=False, output=f"No count of tests ends the output:\n{output}")
    ran, verdict = int(summary["ran"]), f"{summary['verdict']}{summary['rest']}"
    skipped = sum(map(int, _SKIPPED.findall(summary["rest"])))
    if summary["verdict"] == "OK" and ran > skipped:
        return ExecutionResult(success=True, output=f"All {ran} tests completed successfully.")
    return ExecutionResult(success=False, output=f"{verdict} of {ran} tests\n{output}")


def render_unittest_output(report: SuiteReport) -> str:
    """A counted suite in unittest's words: its failures and the summary, without the solution's own output."""
    failures = [_failure(test) for test in report.tests if test.outcome not in {"passed", "skipped"}]
    errors = [f"ERROR: {report.cause.message}"] if report.cause and report.cause.kind != "test_failed" else []
    ran = sum(test.outcome != "missing" for test in report.tests)
    summary = f"{_RULE}\nRan {ran} test{'' if ran == 1 else 's'} in {report.wall_s:.3f}s\n\n{_verdict(report)}\n"
    return "\n".join([*errors, *failures, summary])


def _failure(test: TestOutcome) -> str:
    return f"{'FAIL' if test.outcome == 'failed' else 'ERROR'}: {test.name}\n{test.message or test.outcome}"


def _verdict(report: SuiteReport) -> str:
    counts = Counter(test.outcome for test in report.tests)
    skipped = f"skipped={counts['skipped']}" if counts["skipped"] else ""
    if report.passed:
        return f"OK ({skipped})" if skipped else "OK"
    # A run that ended early counts as an error, even if every test that reported had passed.
    errors = counts["error"] + counts["missing"] or int(not counts["failed"])
    failures = f"failures={counts['failed']}" if counts["failed"] else ""
    parts = (failures, f"errors={errors}" if errors else "", skipped)
    return f"FAILED ({', '.join(filter(None, parts))})"
