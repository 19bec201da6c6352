"""When the tests that a candidate passed are tested themselves, and when stronger ones are asked for."""

from __future__ import annotations

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.run import Attempt, Run


class MeasureStrength(Value):
    """Find out how many mutants of the candidate its tests tell from it."""


class StrengthenTests(Value):
    """Ask once for tests that fail for the mutants that survived, and judge the same code by these too."""

    survivors: tuple[str, ...]
    reason: str


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
