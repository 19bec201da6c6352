"""What a failed attempt's report proves without asking a model.

Which packages are missing, whether a failure came back, which part is to blame, and which generated tests are certainly
wrong. A test is compared with the user's checks only if the candidate passes all of them: its examples, the user's
tests, the run on the samples. Tests whose code cannot be read with certainty are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
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

# pandas and others raise an ImportError with these words, which names no module.
_OPTIONAL_DEPENDENCY: Final = re.compile(r"Missing optional dependency '([A-Za-z0-9_.\-]+)'")
_PINNED: Final = re.compile(r"^([A-Za-z0-9._-]+)==", re.MULTILINE)
_SOURCE_LINE: Final = re.compile(r"^(?:\s|(?:test_)?solution\.py:\d+:)")
_LINE_NUMBER: Final = re.compile(r"\bline \d+|\.py:\d+")
_FLAWS_OF_TESTS: Final = ("broken_tests", "nothing_ran")
_FEWEST_WITNESSES: Final = 2
_UNSETTLED: Final = "meant to fail for mutants, it fails for a solution that had passed all else; no repair settled it"

# --- missing packages ---


def missing_packages(attempt: Attempt) -> tuple[str, ...]:
    """The distributions whose absence explains a failure, without those that are installed."""
    causes = attempt.report.causes if attempt.report else ()
    modules = [cause.subject for cause in causes if cause.kind == "missing_module" and cause.is_certain]
    for cause in causes:
        modules += _OPTIONAL_DEPENDENCY.findall(cause.message)
    wanted = {distribution_for(module) for module in modules if _names_a_distribution(module)}
    return tuple(sorted(wanted - _installed(attempt)))


def _names_a_distribution(module: str) -> bool:
    # For `google.protobuf`, Python first reports `google` as missing, which is another project's distribution.
    return bool(module) and module != "solution" and not is_shared_name(module)


def _installed(attempt: Attempt) -> set[str]:
    """The names of all distributions in the attempt's environment, dependencies included."""
    if attempt.environment is None:
        return set()
    return {canonicalize_name(name) for name in _PINNED.findall(attempt.environment.requirements)}


def needed_system_packages(attempt: Attempt) -> tuple[str, ...]:
    """The Debian packages of the libraries and commands that were missing when the attempt ran."""
    causes = attempt.report.causes if attempt.report else ()
    return tuple(sorted({package for cause in causes for package in system_packages_for(cause.message)}))


# --- whether a failure came back ---


def signature_of(report: TestReport | None) -> tuple[str, ...]:
    """Each cause by kind, subject and message, then each failed test; empty for a report that passed.

    Two reports of the same failure have the same signature, even if lines of code moved.
    """
    if report is None:
        return ()
    causes = [f"{cause.kind} {cause.subject} {_without_code_lines(cause.message)}" for cause in report.causes]
    return (*causes, *(outcome_signature(test) for test in failed_tests(report)))


def outcome_signature(test: TestOutcome) -> str:
    """A failed test by its name and its message."""
    return f"{test.name} {_without_code_lines(test.message)}"


def _without_code_lines(message: str) -> str:
    """The message without lines of code and line numbers, which change with every edit."""
    lines = [line.strip() for line in message.splitlines() if not _SOURCE_LINE.match(line)]
    return _LINE_NUMBER.sub("", "\n".join(lines))


def failed_tests(report: TestReport) -> tuple[TestOutcome, ...]:
    """The tests of all suites that failed or ended with an error."""
    return tuple(test for suite in report.suites for test in suite.tests if test.outcome in {"failed", "error"})


# --- which part is to blame ---


class Suspicion(NamedTuple):
    """The part that is to blame, and why; None if the model must find it."""

    blame: Blame | None = None
    reason: str = ""


def suspect(run: Run, attempt: Attempt) -> Suspicion:
    """Where the next repair of a failed attempt should look.

    The user's examples and tests, and the run on the samples, are right by definition: if one of them failed, the
    generated tests are not to blame. A failure that came back after one part was changed is looked for in the other.
    """
    failed = failed_beyond_blame(attempt.report)
    if failed:
        return Suspicion("solution", f"{failed} failed, which is right by definition")
    flawed = flaw_of_tests(attempt.report)
    if flawed:
        return Suspicion("tests", f"whatever solution.py does, they fail: {flawed}")
    repaired = _repair_in_vain(lineage_of(run, attempt))
    is_built = attempt.report is None or attempt.report.build_cause is None
    if repaired is None or repaired.blame == "reference" or not is_built:
        return Suspicion()
    other: Blame = "solution" if repaired.blame == "tests" else "tests"
    return Suspicion(other, f"the same failure came back after attempt {repaired.number} changed the {repaired.blame}")


def failed_beyond_blame(report: TestReport | None) -> str:
    """The first failed check that is right by definition; "" if none failed."""
    if report is None:
        return ""
    failed = [run.case for run in report.runs if run.cause is not None]
    users = ["the user's tests" for suite in report.suites if suite.origin == "user" and suite.cause is not None]
    examples = [f"the user's {case}" for case in failed if case != SAMPLES_CASE]
    samples = ["the script on the samples" for case in failed if case == SAMPLES_CASE]
    return next(iter([*examples, *users, *samples]), "")


def flaw_of_tests(report: TestReport | None) -> str:
    """Why the generated tests fail for every solution: no Python, no test, no assertion; "" if they do not."""
    causes = (suite.cause for suite in report.suites if suite.origin == "generated") if report else ()
    flaws = (cause.summary for cause in causes if cause and cause.is_certain and cause.kind in _FLAWS_OF_TESTS)
    return next(flaws, "")


def _repair_in_vain(lineage: tuple[Attempt, ...]) -> Attempt | None:
    """The last repair of a lineage, if the failure after it is the same as one before it."""
    now = signature_of(lineage[-1].report)
    for position in range(len(lineage) - 1, 0, -1):
        if lineage[position].action == "repair" and not lineage[position].unusable:
            before = (signature_of(attempt.report) for attempt in lineage[:position])
            return lineage[position] if now in before else None
    return None


# --- generated tests that are certainly wrong ---


def contradicting_tests(run: Run, attempt: Attempt) -> tuple[DroppedTest, ...]:
    """The failed tests that contradict an example, the declared interface, or the majority of candidates.

    Empty if no remaining test could judge: then a repair has to change the tests.
    """
    failed = _failed_functions(attempt)
    wrong = [(name, reason) for name, test in failed.items() if (reason := _why_wrong(run, attempt, test))]
    return droppable(run, attempt, (DroppedTest(name=name, reason=why, attempt=attempt.number) for name, why in wrong))


def droppable(run: Run, attempt: Attempt, tests: Iterable[DroppedTest]) -> tuple[DroppedTest, ...]:
    """Those of the tests that the source declares, so that they can be removed; empty if nothing could judge then."""
    declared = {function.name for function in declared_functions(attempt.candidate.tests)}
    dropped = tuple(test for test in tests if test.name in declared)
    return dropped if dropped and _can_judge_without(run, attempt, dropped) else ()


def declared_functions(tests: str | None) -> tuple[DeclaredFunction, ...]:
    """The test functions of a suite; empty for source that is not valid Python."""
    try:
        return find_test_functions(tests or "")
    except SyntaxError:
        return ()


def _can_judge_without(run: Run, attempt: Attempt, dropped: tuple[DroppedTest, ...]) -> bool:
    remaining = without_tests(attempt.candidate.tests or "", [test.name for test in dropped])
    return bool(run.request.examples or run.request.tests) or asserts_something(remaining)


def _failed_functions(attempt: Attempt) -> dict[str, TestOutcome]:
    """The failed generated test functions by name; empty unless every check that is right by definition passed."""
    report = attempt.report
    if report is None or report.build_cause or not report.runs or failed_beyond_blame(report):
        return {}
    suites = [suite for suite in report.suites if suite.origin == "generated" and suite.cause]
    tests = [test for suite in suites for test in suite.tests if test.outcome == "failed"]
    return {function_of(test.name): test for test in reversed(tests)}


def _why_wrong(run: Run, attempt: Attempt, test: TestOutcome) -> str:
    """Why the test is wrong; "" if that is not certain."""
    function = _declaration(attempt, test)
    if function is None:
        return ""
    reasons = (
        _against_interface(run.request, function, test),
        _against_example(run.request, function, test),
        _against_majority(run, attempt, test),
    )
    return next(filter(None, reasons), "")


def _declaration(attempt: Attempt, test: TestOutcome) -> DeclaredFunction | None:
    functions = declared_functions(attempt.candidate.tests)
    return next((function for function in functions if function.name == function_of(test.name)), None)


def _against_interface(request: Request, function: DeclaredFunction, test: TestOutcome) -> str:
    """The test failed because of an output or an option that is not declared."""
    call = read_call(function.node)
    for name in call.outputs - set(request.outputs):
        if f"'/var/outputs/{name}" in test.message and "No such file" in test.message:
            return f"it reads /var/outputs/{name}, which is no declared output"
    for name in call.options - set(request.inputs):
        if "SystemExit" in test.message:
            return f"it passes --{name}, which is no declared input"
    return ""


def _against_example(request: Request, function: DeclaredFunction, test: TestOutcome) -> str:
    """The test expects other outputs for exactly the inputs of an example, which the candidate passes."""
    call = read_call(function.node)
    if not test.message.startswith("assert ") or not call.is_single or not call.outputs:
        return ""
    for number, example in enumerate(request.examples, 1):
        if call.outputs <= set(example.outputs) and _has_inputs(call, request, example.inputs):
            return f"it expects something else of the inputs of example {number}, which holds"
    return ""


def _has_inputs(call: ScriptCall, request: Request, inputs: Mapping[str, JsonValue]) -> bool:
    """Whether the call certainly has these inputs: the text of every option, and the content of every file."""
    if not set(inputs) == set(request.inputs) == call.options:
        return False
    kinds = request.inputs
    texts = {name: format_value(value, kinds[name]) for name, value in inputs.items() if is_simple(kinds[name])}
    files = [value for name, value in inputs.items() if not is_simple(kinds[name])]
    if any(call.values[name] != text for name, text in texts.items()):
        return False
    return all(isinstance(value, str) for value in files) and call.contents == set(map(str, files))


def _against_majority(run: Run, attempt: Attempt, test: TestOutcome) -> str:
    """More than half of all independent candidates, and at least two, fail the test with the same message."""
    drafts = [other for other in run.attempts if other.parent is None]
    signature, source = outcome_signature(test), _source_of(attempt, test)
    newest = {lineage_of(run, other)[0].number: other for other in run.attempts}
    agreeing = {
        other.candidate.solution.code
        for other in newest.values()
        if _source_of(other, test) == source and _signature_in(other, test) == signature
    }
    if len(agreeing) < _FEWEST_WITNESSES or 2 * len(agreeing) <= len(drafts):
        return ""
    return f"{len(agreeing)} of {len(drafts)} independent candidates contradict it alike, and do all else right"


def _source_of(attempt: Attempt, test: TestOutcome) -> str:
    function = _declaration(attempt, test)
    return source_of(attempt.candidate.tests or "", function) if function else ""


def _signature_in(attempt: Attempt, test: TestOutcome) -> str | None:
    """How the same test failed for another attempt; None if it passed, or if more than generated tests failed."""
    other = _failed_functions(attempt).get(function_of(test.name))
    return outcome_signature(other) if other else None


# --- added tests that no repair could satisfy ---


class UnsettledTests(NamedTuple):
    """Added tests that no repair could satisfy, and the number of the attempt to go back to without them."""

    attempt: int
    tests: tuple[DroppedTest, ...]


def unsettled_tests(run: Run, base: Attempt) -> UnsettledTests | None:
    """The tests added by `strengthen_tests` that fail for the code which had passed before; None if there are none.

    If that code failed in another way than by single tests, all added tests are listed.
    """
    lineage = lineage_of(run, base)
    passed = next((before for before, after in pairwise(lineage) if after.action == "strengthen_tests"), None)
    if passed is None:
        return None
    code = passed.candidate.solution.code
    judged = next(attempt for attempt in reversed(lineage) if attempt.candidate.solution.code == code)
    old_names = {function.name for function in declared_functions(passed.candidate.tests)}
    added = [function.name for function in declared_functions(judged.candidate.tests) if function.name not in old_names]
    failed = {function_of(test.name) for test in failed_tests(judged.report or TestReport())}
    wrong = [name for name in added if name in failed] or added
    tests = tuple(DroppedTest(name=name, reason=_UNSETTLED, attempt=judged.number) for name in wrong)
    back = passed if len(wrong) == len(added) else judged
    return UnsettledTests(attempt=back.number, tests=tests) if tests else None
