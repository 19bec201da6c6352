"""What a failure is known by when it comes back: the same causes by the same words, wherever the lines moved."""

from __future__ import annotations

import re
from typing import Final

from flyteplugins_codegen.models.report import TestOutcome, TestReport

_SOURCE_LINE: Final = re.compile(r"^(?:\s|(?:test_)?solution\.py:\d+:)")
_LINE_NUMBER: Final = re.compile(r"\bline \d+|\.py:\d+")


def signature_of(report: TestReport | None) -> tuple[str, ...]:
    """Each cause by kind, subject and words, then each test that did not pass; empty for a report that passed."""
    if report is None:
        return ()
    causes = [f"{cause.kind} {cause.subject} {_words(cause.message)}" for cause in report.causes]
    return (*causes, *(outcome_signature(test) for test in failed_tests(report)))


def failed_tests(report: TestReport) -> tuple[TestOutcome, ...]:
    """The tests of all suites that did not pass."""
    return tuple(test for suite in report.suites for test in suite.tests if test.outcome in {"failed", "error"})


def outcome_signature(test: TestOutcome) -> str:
    """A failed test by its name and by what it found."""
    return f"{test.name} {_words(test.message)}"


def _words(message: str) -> str:
    """The message without lines of code and their numbers, which every change of the code moves."""
    lines = [line.strip() for line in message.splitlines() if not _SOURCE_LINE.match(line)]
    return _LINE_NUMBER.sub("", "\n".join(lines))
