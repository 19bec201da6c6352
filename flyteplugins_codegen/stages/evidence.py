"""What shows that an attempt which passed is right: the user's own checks, or tests that assert what it computes.

A run on the samples alone does not: outputs that exist and have their types may hold any values.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from flyteplugins_codegen.models.run import SAMPLES_CASE, Attempt, Run, SuiteOrigin, TestReport

_REMEDY: Final = "add an example (`examples=`) or a test (`tests=`) of your own that states the right values"


class Evidence(NamedTuple):
    """The checks that an attempt has passed, by who wrote them.

    `flaw` says why the generated tests show nothing: no test asserts a value of some output. It is "" for tests that
    were not measured, and where the user sets `min_test_strength` to 0.
    """

    examples: int
    user_tests: int
    generated_tests: int
    flaw: str

    @property
    def lacking(self) -> str:
        """Why success cannot rest on these checks, and the remedy; "" if it can."""
        if self.examples or self.user_tests or not self.flaw:
            return ""
        return f"nothing shows that its values are right: {self.flaw}; {_REMEDY}"


def evidence_of(run: Run, attempt: Attempt) -> Evidence:
    """The evidence for an attempt, as far as its report and the strength of its tests tell."""
    report, strength = attempt.report, attempt.strength
    examples = sum(script.passed for script in report.runs if script.case != SAMPLES_CASE) if report else 0
    return Evidence(
        examples=examples,
        user_tests=_passed_tests(report, "user"),
        generated_tests=_passed_tests(report, "generated"),
        flaw=strength.reason if strength is not None and run.settings.min_test_strength > 0 else "",
    )


def _passed_tests(report: TestReport | None, origin: SuiteOrigin) -> int:
    suites = report.suites if report else ()
    return sum(test.outcome == "passed" for suite in suites if suite.origin == origin for test in suite.tests)
