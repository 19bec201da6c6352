"""What a repair is shown of what failed: the smallest case, the tests that it needs, nothing that is private."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.report import SAMPLES_CASE, SuiteReport, TestReport
from flyteplugins_codegen.models.request import Request
from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.source.test_functions import find_test_functions, function_of, source_of, without_tests
from flyteplugins_codegen.stages.privacy import masked_failures, masker_for

WHOLE_TESTS_TOKENS: Final = 600
_CHARACTERS_A_TOKEN: Final = 4


class _Failures(Value):
    attempts: tuple[Attempt, ...]


def masked_attempts(run: Run, attempts: Sequence[Attempt], samples: Mapping[str, Path]) -> tuple[Attempt, ...]:
    """Attempts as a model may hear of them, each with its cause, and the last one with its whole report."""
    last = _without_cells(attempts[-1]) if run.settings.privacy == "profile" else attempts[-1]
    told = (*(attempt.model_copy(update={"report": None}) for attempt in attempts[:-1]), last)
    return masked_failures(_Failures(attempts=told), masker_for(run.settings, run.request), samples).attempts


def _without_cells(attempt: Attempt) -> Attempt:
    """The attempt without what its variables held of the samples: parts and sums of cells, which no mask finds."""
    if attempt.report is None:
        return attempt
    runs = [
        run.model_copy(update={"variables": ""}) if run.case == SAMPLES_CASE else run for run in attempt.report.runs
    ]
    return attempt.model_copy(update={"report": attempt.report.model_copy(update={"runs": tuple(runs)})})


def smallest_failures(report: TestReport, request: Request, tests: str | None) -> frozenset[str]:
    """Of each suite's failed tests the one with the shortest source; of a test's cases, the one of the shortest name.

    Raises nothing: of a suite that is not Python no test has run.
    """
    sources = {"user": request.tests, "generated": tests}
    found = (_smallest(suite, sources[suite.origin] or "") for suite in report.suites)
    return frozenset(name for name in found if name)


def shown_tests(tests: str, failed: Collection[str]) -> str:
    """The tests as a repair sees them: whole where they are short, else without the functions that did not fail."""
    if len(tests) <= WHOLE_TESTS_TOKENS * _CHARACTERS_A_TOKEN or not failed:
        return tests
    needed = {function_of(name) for name in failed}
    try:
        return without_tests(tests, [each.name for each in find_test_functions(tests) if each.name not in needed])
    except SyntaxError:
        return tests


def _smallest(suite: SuiteReport, source: str) -> str:
    failed = [test.name for test in suite.tests if test.outcome in {"failed", "error"}]
    if not failed:
        return ""
    sizes = {each.name: len(source_of(source, each)) for each in find_test_functions(source)}
    return min(failed, key=lambda name: (sizes.get(function_of(name), len(source)), len(name)))
