"""Generated tests that are certainly wrong, found without asking anybody.

A test is held against what is right by definition only where the candidate satisfies all of that: its examples, the
user's tests, the run on the samples. What of a test's text cannot be read with certainty is no reason to drop it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from packaging.utils import canonicalize_name
from pydantic import JsonValue

from flyteplugins_codegen.models.job import Request
from flyteplugins_codegen.models.run import SAMPLES_CASE, Attempt, Blame, DroppedTest, Run, TestOutcome, TestReport
from flyteplugins_codegen.packages.names import distribution_for, is_shared_name
from flyteplugins_codegen.packages.system import system_packages_for
from flyteplugins_codegen.portable.launcher import format_value, is_simple
from flyteplugins_codegen.source.tests import (
    DeclaredFunction,
    ScriptCall,
    asserts_something,
    find_test_functions,
    function_of,
    read_call,
    source_of,
    without_tests,
)
from flyteplugins_codegen.stages.lineage import lineage_of

# Causes of a failure that are certain: what is missing is named by the failure itself, and no model is asked.

# pandas and others ask for an engine in these words, by an ImportError that names no module.
_OPTIONAL_DEPENDENCY = re.compile(r"Missing optional dependency '([A-Za-z0-9_.\-]+)'")
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==", re.MULTILINE)


def missing_packages(attempt: Attempt) -> tuple[str, ...]:
    """The distributions whose absence explains a failure, where they are not installed already."""
    causes = attempt.report.causes if attempt.report else ()
    modules = [cause.subject for cause in causes if cause.kind == "missing_module" and cause.is_certain]
    for cause in causes:
        modules += _OPTIONAL_DEPENDENCY.findall(cause.message)
    wanted = {distribution_for(module) for module in modules if _is_told(module)}
    return tuple(sorted(wanted - _installed(attempt)))


def _is_told(module: str) -> bool:
    """Of `google.protobuf` Python says at first that `google` is missing, which is somebody else's distribution."""
    return bool(module) and module != "solution" and not is_shared_name(module)


def needed_system_packages(attempt: Attempt) -> tuple[str, ...]:
    """The Debian packages of the libraries and commands that were missing when the attempt ran."""
    causes = attempt.report.causes if attempt.report else ()
    return tuple(sorted({package for cause in causes for package in system_packages_for(cause.message)}))


def _installed(attempt: Attempt) -> set[str]:
    """The names of all distributions that the attempt ran with, those that came with others included."""
    if attempt.environment is None:
        return set()
    return {canonicalize_name(name) for name in _PINNED.findall(attempt.environment.requirements)}


# What a failure is known by when it comes back: the same causes by the same words, wherever the lines moved.

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


# Where a repair is told to look: a failure that comes back after one side was changed is looked for on the other.

_FLAWS_OF_TESTS: Final = ("broken_tests", "nothing_ran")


class Suspicion(NamedTuple):
    """What is to blame and why; None where that is for the model to find."""

    blame: Blame | None = None
    reason: str = ""


def suspect(run: Run, attempt: Attempt) -> Suspicion:
    """Where the next repair of a failed attempt is to look.

    The user's examples and tests, and the run on the samples, are right by definition: where one of them failed, the
    generated tests are never to blame.
    """
    failed = failed_beyond_blame(attempt.report)
    if failed:
        return Suspicion("solution", f"{failed} failed, which is right by definition")
    flawed = flaw_of_tests(attempt.report)
    if flawed:
        return Suspicion("tests", f"whatever solution.py does, they fail: {flawed}")
    repaired = _repair_in_vain(lineage_of(run, attempt))
    if repaired is None or (attempt.report is not None and attempt.report.build_cause is not None):
        return Suspicion()
    other: Blame = "solution" if repaired.blame == "tests" else "tests"
    return Suspicion(other, f"the same failure came back after attempt {repaired.number} changed the {repaired.blame}")


def failed_beyond_blame(report: TestReport | None) -> str:
    """The first that failed of what is right by definition; "" where none did."""
    if report is None:
        return ""
    failed = [run.case for run in report.runs if run.cause is not None]
    users = ["the user's tests" for suite in report.suites if suite.origin == "user" and suite.cause is not None]
    examples = [f"the user's {case}" for case in failed if case != SAMPLES_CASE]
    samples = ["the script on the samples" for case in failed if case == SAMPLES_CASE]
    return next(iter([*examples, *users, *samples]), "")


def flaw_of_tests(report: TestReport | None) -> str:
    """Why the generated tests fail for every solution: no Python, no test, nothing asserted; "" where they do not."""
    causes = (suite.cause for suite in report.suites if suite.origin == "generated") if report else ()
    found = (cause.told for cause in causes if cause and cause.is_certain and cause.kind in _FLAWS_OF_TESTS)
    return next(found, "")


def _repair_in_vain(lineage: tuple[Attempt, ...]) -> Attempt | None:
    """The last repair of a lineage, where what fails now had failed before it in the same words."""
    now = signature_of(lineage[-1].report)
    for position in range(len(lineage) - 1, 0, -1):
        if lineage[position].action == "repair" and not lineage[position].unusable:
            before = (signature_of(attempt.report) for attempt in lineage[:position])
            return lineage[position] if now in before else None
    return None


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
