"""What a repair's prompt shows of a failure: the smallest case, the tests that it needs, and nothing private."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from flyteplugins_codegen.data.privacy.failures import hide_texts
from flyteplugins_codegen.llm.failures import crashes_of, has_crashed_alike
from flyteplugins_codegen.llm.prompts import describe_job
from flyteplugins_codegen.models.job import Candidate, Request
from flyteplugins_codegen.models.run import SAMPLES_CASE, Attempt, Run, ScriptRun, SuiteReport, TestOutcome, TestReport
from flyteplugins_codegen.sandbox.contract import INPUTS
from flyteplugins_codegen.source.tests import find_test_functions, function_of, source_of, without_tests
from flyteplugins_codegen.stages.diagnosis import failed_beyond_blame
from flyteplugins_codegen.stages.model_calls import brief_of
from flyteplugins_codegen.stages.privacy import masked_attempts, masker_for

WHOLE_TESTS_TOKENS: Final = 600
_CHARACTERS_A_TOKEN: Final = 4


def masked_lineage(run: Run, attempts: Sequence[Attempt], samples: Mapping[str, Path]) -> tuple[Attempt, ...]:
    """The attempts as a model may see them: the last one with its whole report, the others with their causes only."""
    *others, last = attempts
    report = last.report and without_rows(run, without_texts_of_samples(run, last.candidate, last.report))
    shown = (
        *(attempt.model_copy(update={"report": None}) for attempt in others),
        last.model_copy(update={"report": report}),
    )
    return masked_attempts(shown, masker_for(run.settings, run.request), samples)


def without_texts_of_samples(run: Run, candidate: Candidate, report: TestReport) -> TestReport:
    """The report without texts in variables that come from the samples: no mask recognises a part of a cell.

    Texts that the model has written or has been shown are kept. With privacy "profile", all variables are removed: a
    number may be a sum of few cells.
    """
    privacy = run.settings.privacy
    if privacy == "rows" or not any(script_run.variables for script_run in report.runs):
        return report
    job = describe_job(brief_of(run.settings, run.request, run.context))
    paths = [f"{INPUTS}/{name}" for name in run.request.inputs]
    known = "\n".join([job, candidate.solution.code, candidate.tests or "", *paths])

    def without_texts(script_run: ScriptRun) -> ScriptRun:
        if script_run.case != SAMPLES_CASE:
            return script_run
        variables = "" if privacy == "profile" else hide_texts(script_run.variables, known)
        return script_run.model_copy(update={"variables": variables})

    return report.model_copy(update={"runs": tuple(map(without_texts, report.runs))})


def is_only_crash(report: TestReport) -> bool:
    """Whether the script crashed outside of pytest, and no generated test failed by anything else: none is to blame."""
    crashes = crashes_of(report)
    suites = [suite for suite in report.suites if suite.origin == "generated" and suite.cause]
    return bool(crashes) and all(
        suite.cause is not None
        and suite.cause.kind == "test_failed"
        and all(has_crashed_alike(test, crashes) for test in _failed(suite))
        for suite in suites
    )


def without_rows(run: Run, report: TestReport) -> TestReport:
    """With privacy "profile", the report without the rows on which the reference differs."""
    reference = report.reference
    if run.settings.privacy != "profile" or reference is None or reference.difference is None:
        return report
    difference = reference.difference.model_copy(update={"rows": "", "row_count": 0})
    return report.model_copy(update={"reference": reference.model_copy(update={"difference": difference})})


def smallest_failures(report: TestReport, request: Request, tests: str | None) -> frozenset[str]:
    """For each suite the failed test with the shortest source; among the cases of one test, the shortest name.

    Where no check that is right by definition failed, a second test that failed in another way is added: of two
    failures, one may be the solution's and the other a test's. Tests that crashed as the script did are left out. It
    cannot raise SyntaxError: in a suite that is not valid Python, no test has run.
    """
    sources = {"user": request.tests, "generated": tests}
    crashes, most = crashes_of(report), 1 if failed_beyond_blame(report) else 2
    return frozenset(
        test.name
        for suite in report.suites
        for test in _smallest_failures(suite, sources[suite.origin] or "", crashes)[:most]
    )


def _smallest_failures(suite: SuiteReport, source: str, crashes: Collection[tuple[str, str]]) -> list[TestOutcome]:
    """The failed tests that differ in function and message, those with the shortest source first."""
    failed = [test for test in _failed(suite) if not has_crashed_alike(test, crashes)]
    if not failed:
        return []
    sizes = {function.name: len(source_of(source, function)) for function in find_test_functions(source)}
    failed.sort(key=lambda test: (sizes.get(function_of(test.name), len(source)), len(test.name)))
    first = failed[0]
    others = (test for test in failed if test.message != first.message)
    return [first, *(test for test in others if function_of(test.name) != function_of(first.name))]


def _failed(suite: SuiteReport) -> list[TestOutcome]:
    return [test for test in suite.tests if test.outcome in {"failed", "error"}]


def shown_tests(tests: str, failed: Collection[str]) -> str:
    """The tests as a repair's prompt shows them: all if they are short, else without functions that did not fail."""
    if len(tests) <= WHOLE_TESTS_TOKENS * _CHARACTERS_A_TOKEN or not failed:
        return tests
    needed = {function_of(name) for name in failed}
    try:
        others = [function.name for function in find_test_functions(tests) if function.name not in needed]
        return without_tests(tests, others)
    except SyntaxError:
        return tests
