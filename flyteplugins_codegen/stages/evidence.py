"""What shows that an attempt which passed is right: the user's own checks, or tests that assert what it computes.

A run on the samples alone does not: outputs that exist and have their types may hold any values. Where tests assert
values of some outputs only, a reference that agrees on the samples stands for the others.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from flyteplugins_codegen.models.run import SAMPLES_CASE, Attempt, Run, TestReport
from flyteplugins_codegen.source.vacuity import unasserted_outputs

_REMEDY: Final = "add an example (`examples=`) or a test (`tests=`) of your own that states the right values"


class Evidence(NamedTuple):
    """The checks that an attempt has passed, by who wrote them.

    `is_completed`: the tests assert values of some outputs, and the reference has the same values of all of them.

    `flaw` says why the generated tests show nothing: no test asserts a value of some output. It is "" for tests that
    were not measured, and where the user sets `min_test_strength` to 0.
    """

    examples: int
    user_tests: int
    is_completed: bool
    flaw: str

    @property
    def lacking(self) -> str:
        """Why success cannot rest on these checks, and the remedy; "" if it can."""
        if self.examples or self.user_tests or self.is_completed or not self.flaw:
            return ""
        return f"nothing shows that its values are right: {self.flaw}; {_REMEDY}"


def evidence_of(run: Run, attempt: Attempt) -> Evidence:
    """The evidence for an attempt, as far as its report and the strength of its tests tell."""
    report, strength = attempt.report, attempt.strength
    examples = sum(script.passed for script in report.runs if script.case != SAMPLES_CASE) if report else 0
    flaw = strength.reason if strength is not None and run.settings.min_test_strength > 0 else ""
    return Evidence(
        examples=examples,
        user_tests=_passed_user_tests(report),
        is_completed=bool(flaw) and _agrees_on_samples(report) and _asserts_some(run, attempt),
        flaw=flaw,
    )


def _agrees_on_samples(report: TestReport | None) -> bool:
    reference = report.reference if report else None
    return reference is not None and reference.agrees and SAMPLES_CASE in reference.agreed


def _asserts_some(run: Run, attempt: Attempt) -> bool:
    """Whether the generated tests assert a value of at least one output."""
    outputs = tuple(run.request.outputs)
    try:
        left = unasserted_outputs([attempt.candidate.tests or ""], outputs, attempt.candidate.solution.code)
    except SyntaxError:
        return False
    return len(left) < len(outputs)


def _passed_user_tests(report: TestReport | None) -> int:
    suites = report.suites if report else ()
    return sum(test.outcome == "passed" for suite in suites if suite.origin == "user" for test in suite.tests)
