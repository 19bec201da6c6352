"""Generated tests that are certainly wrong, found without asking anybody.

A test is held against what is right by definition only where the candidate satisfies all of that: its examples, the
user's tests, the run on the samples. What of a test's text cannot be read with certainty is no reason to drop it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from pydantic import JsonValue

from flyteplugins_codegen.models.report import TestOutcome
from flyteplugins_codegen.models.request import Request
from flyteplugins_codegen.models.run import Attempt, DroppedTest, Run
from flyteplugins_codegen.sandbox.launcher import format_value, is_simple
from flyteplugins_codegen.source.declared_tests import asserts_something
from flyteplugins_codegen.source.test_calls import ScriptCall, read_call
from flyteplugins_codegen.source.test_functions import (
    DeclaredFunction,
    find_test_functions,
    function_of,
    source_of,
    without_tests,
)
from flyteplugins_codegen.stages.blame import failed_beyond_blame
from flyteplugins_codegen.stages.lineage import lineage_of
from flyteplugins_codegen.stages.signatures import outcome_signature

_FEWEST_WITNESSES: Final = 2


def contradicting_tests(run: Run, attempt: Attempt) -> tuple[DroppedTest, ...]:
    """The failed tests that contradict an example, the declared interface, or the majority of candidates.

    None where nothing would be left that can judge: then the tests are for a repair to mend.
    """
    failed = _failed_functions(attempt)
    found = [(name, reason) for name, test in failed.items() if (reason := _why_wrong(run, attempt, test))]
    return droppable(run, attempt, (DroppedTest(name=name, reason=why, attempt=attempt.number) for name, why in found))


def droppable(run: Run, attempt: Attempt, tests: Iterable[DroppedTest]) -> tuple[DroppedTest, ...]:
    """Those of the tests that the source shows, so that they can be taken out; none where nothing could judge then."""
    declared = {function.name for function in _functions_of(attempt)}
    dropped = tuple(test for test in tests if test.name in declared)
    return dropped if dropped and _can_judge_without(run, attempt, dropped) else ()


def _failed_functions(attempt: Attempt) -> dict[str, TestOutcome]:
    """The generated test functions that failed, by name, where all that is right by definition holds."""
    report = attempt.report
    if report is None or report.build_cause or not report.runs or failed_beyond_blame(report):
        return {}
    suites = [suite for suite in report.suites if suite.origin == "generated" and suite.cause]
    tests = [test for suite in suites for test in suite.tests if test.outcome == "failed"]
    return {function_of(test.name): test for test in reversed(tests)}


def _can_judge_without(run: Run, attempt: Attempt, dropped: tuple[DroppedTest, ...]) -> bool:
    left = without_tests(attempt.candidate.tests or "", [test.name for test in dropped])
    return bool(run.request.examples or run.request.tests) or asserts_something(left)


def _why_wrong(run: Run, attempt: Attempt, test: TestOutcome) -> str:
    """Why the test is wrong, "" where that is not certain."""
    function = _declared(attempt, test)
    if function is None:
        return ""
    reasons = (
        _against_interface(run.request, function, test),
        _against_example(run.request, function, test),
        _against_majority(run, attempt, test),
    )
    return next(filter(None, reasons), "")


def _declared(attempt: Attempt, test: TestOutcome) -> DeclaredFunction | None:
    return next((each for each in _functions_of(attempt) if each.name == function_of(test.name)), None)


def _functions_of(attempt: Attempt) -> tuple[DeclaredFunction, ...]:
    try:
        return find_test_functions(attempt.candidate.tests or "")
    except SyntaxError:
        return ()


def _against_interface(request: Request, function: DeclaredFunction, test: TestOutcome) -> str:
    """It fails for an output or an option that nobody declared."""
    call = read_call(function.node)
    for name in call.outputs - set(request.outputs):
        if f"'/var/outputs/{name}" in test.message and "No such file" in test.message:
            return f"it reads /var/outputs/{name}, which is no declared output"
    for name in call.options - set(request.inputs):
        if "SystemExit" in test.message:
            return f"it passes --{name}, which is no declared input"
    return ""


def _against_example(request: Request, function: DeclaredFunction, test: TestOutcome) -> str:
    """It expects other outputs for the very inputs of an example, which the candidate satisfies."""
    call = read_call(function.node)
    if not test.message.startswith("assert ") or not call.is_single or not call.outputs:
        return ""
    for number, example in enumerate(request.examples, 1):
        if call.outputs <= set(example.outputs) and _is_of_inputs(call, request, example.inputs):
            return f"it expects something else of the inputs of example {number}, which holds"
    return ""


def _is_of_inputs(call: ScriptCall, request: Request, inputs: Mapping[str, JsonValue]) -> bool:
    """Whether the call can only be one with these inputs: each option's text is known, each file's content is there."""
    if not set(inputs) == set(request.inputs) == call.options:
        return False
    kinds = request.inputs
    texts = {name: format_value(value, kinds[name]) for name, value in inputs.items() if is_simple(kinds[name])}
    files = [value for name, value in inputs.items() if not is_simple(kinds[name])]
    if any(call.values[name] != text for name, text in texts.items()):
        return False
    return all(isinstance(value, str) for value in files) and call.contents == set(map(str, files))


def _against_majority(run: Run, attempt: Attempt, test: TestOutcome) -> str:
    """More than half of all independent candidates, and at least two, fail it in the same words."""
    drafts = [each for each in run.attempts if each.parent is None]
    found, text = outcome_signature(test), _text_of(attempt, test)
    newest = {lineage_of(run, each)[0].number: each for each in run.attempts}
    agreeing = {
        each.candidate.solution.code
        for each in newest.values()
        if _text_of(each, test) == text and _finding(each, test) == found
    }
    if len(agreeing) < _FEWEST_WITNESSES or 2 * len(agreeing) <= len(drafts):
        return ""
    return f"{len(agreeing)} of {len(drafts)} independent candidates contradict it alike, and do all else right"


def _text_of(attempt: Attempt, test: TestOutcome) -> str:
    function = _declared(attempt, test)
    return source_of(attempt.candidate.tests or "", function) if function else ""


def _finding(attempt: Attempt, test: TestOutcome) -> str | None:
    """How the same test failed for another attempt; None where it did not, or where more than tests failed."""
    other = _failed_functions(attempt).get(function_of(test.name))
    return outcome_signature(other) if other else None
