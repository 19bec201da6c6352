"""When the tests that a candidate passed are tested themselves, and when stronger ones are asked for."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.report import TestReport
from flyteplugins_codegen.models.run import Attempt, DroppedTest, Run
from flyteplugins_codegen.source.test_functions import find_test_functions, function_of
from flyteplugins_codegen.stages.actions import MeasureStrength, StrengthenTests
from flyteplugins_codegen.stages.lineage import lineage_of
from flyteplugins_codegen.stages.signatures import failed_tests


def measure_first(run: Run, base: Attempt) -> MeasureStrength | None:
    """Tests that a model wrote are measured before they count; what the user gave is right by definition."""
    is_tested = base.candidate.tests is not None and not run.settings.skip_tests
    return MeasureStrength() if is_tested and base.strength is None else None


def strengthen(run: Run, base: Attempt) -> StrengthenTests | None:
    """Below `min_test_strength`, whatever else has judged the candidate: at most once in a run.

    Not where the budget or the iterations are spent: a candidate that passed is kept as it is. Nor for an agent, which
    writes its tests itself.
    """
    strength, settings = base.strength, run.settings
    if strength is None or strength.share is None or strength.share >= settings.min_test_strength:
        return None
    has_asked = any(call.purpose == "stronger_tests" for call in run.calls)
    has_room = not run.stopped and len(run.attempts) < settings.max_iterations
    if has_asked or not has_room or settings.backend == "agent":
        return None
    told = f"{len(strength.survivors)} of {strength.total} wrong versions of the solution pass its tests"
    return StrengthenTests(survivors=strength.survivors, reason=told)


class Unsettled(Value):
    """Further tests that nothing could settle, and the number of the attempt to go back to without them."""

    attempt: int
    tests: tuple[DroppedTest, ...]


def unsettled_tests(run: Run, base: Attempt) -> Unsettled | None:
    """The further tests that fail for the very code which had passed before they were asked for.

    None where there are none. Where that code failed otherwise than test by test, none of them is kept.
    """
    lineage = lineage_of(run, base)
    passed = _passed_before(lineage)
    if passed is None:
        return None
    judged = next(each for each in reversed(lineage) if _code(each) == _code(passed))
    added = [name for name in _test_names(judged) if name not in _test_names(passed)]
    failed = {function_of(test.name) for test in failed_tests(judged.report or TestReport())}
    wrong = [name for name in added if name in failed] or added
    tests = tuple(DroppedTest(name=name, reason=_UNSETTLED, attempt=judged.number) for name in wrong)
    back = passed if len(wrong) == len(added) else judged
    return Unsettled(attempt=back.number, tests=tests) if tests else None


_UNSETTLED: Final = "meant to fail for mutants, it fails for a solution that had passed all else; no repair settled it"


def _passed_before(lineage: tuple[Attempt, ...]) -> Attempt | None:
    """The attempt whose tests were found weak."""
    return next((before for before, after in pairwise(lineage) if after.action == "strengthen_tests"), None)


def _code(attempt: Attempt) -> str:
    return attempt.candidate.solution.code


def _test_names(attempt: Attempt) -> tuple[str, ...]:
    try:
        return tuple(function.name for function in find_test_functions(attempt.candidate.tests or ""))
    except SyntaxError:
        return ()
