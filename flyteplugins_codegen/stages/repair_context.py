"""What a repair is shown of what failed: the smallest case, the tests that it needs, nothing that is private."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from flyteplugins_codegen.data.privacy.failures import hide_texts
from flyteplugins_codegen.llm.prompts import describe_job
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.job import Candidate, Request
from flyteplugins_codegen.models.run import SAMPLES_CASE, Attempt, Run, ScriptRun, SuiteReport, TestReport
from flyteplugins_codegen.sandbox.contract import INPUTS
from flyteplugins_codegen.source.tests import find_test_functions, function_of, source_of, without_tests
from flyteplugins_codegen.stages.draft import brief_of
from flyteplugins_codegen.stages.privacy import masked_failures, masker_for

WHOLE_TESTS_TOKENS: Final = 600
_CHARACTERS_A_TOKEN: Final = 4


class _Failures(Value):
    attempts: tuple[Attempt, ...]


def masked_attempts(run: Run, attempts: Sequence[Attempt], samples: Mapping[str, Path]) -> tuple[Attempt, ...]:
    """Attempts as a model may hear of them, each with its cause, and the last one with its whole report."""
    *others, last = attempts
    report = last.report and without_texts_of_samples(run, last.candidate, last.report)
    told = (
        *(attempt.model_copy(update={"report": None}) for attempt in others),
        last.model_copy(update={"report": report}),
    )
    return masked_failures(_Failures(attempts=told), masker_for(run.settings, run.request), samples).attempts


def without_texts_of_samples(run: Run, candidate: Candidate, report: TestReport) -> TestReport:
    """The report without texts that variables held of the samples: a part of a cell is found by no mask.

    Those that the model has written or was told are left. By `profile` no variable is told, for it may be a sum of few.
    """
    privacy = run.settings.privacy
    if privacy == "rows" or not any(each.variables for each in report.runs):
        return report
    job = describe_job(brief_of(run.settings, run.request, run.context))
    paths = [f"{INPUTS}/{name}" for name in run.request.inputs]
    known = "\n".join([job, candidate.solution.code, candidate.tests or "", *paths])

    def shown(told: ScriptRun) -> ScriptRun:
        if told.case != SAMPLES_CASE:
            return told
        variables = "" if privacy == "profile" else hide_texts(told.variables, known)
        return told.model_copy(update={"variables": variables})

    return report.model_copy(update={"runs": tuple(map(shown, report.runs))})


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
