"""Which attempt came from which: rounds, lineages, and the attempt that a run goes on from."""

from __future__ import annotations

from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.stages.outcome import best_attempt


def pending_attempt(run: Run) -> Attempt | None:
    """The first attempt that has not been judged yet."""
    return next((attempt for attempt in run.attempts if attempt.report is None), None)


def newest_round(run: Run) -> tuple[Attempt, ...]:
    """The attempts that were made last, all at once."""
    return tuple(attempt for attempt in run.attempts if attempt.round_number == run.attempts[-1].round_number)


def base_attempt(run: Run) -> Attempt:
    """The attempt that the run goes on from: of the newest round, the one that came farthest.

    Raises IndexError for a run without attempts.
    """
    return best_attempt(newest_round(run)) or run.attempts[-1]


def lineage_of(run: Run, attempt: Attempt) -> tuple[Attempt, ...]:
    """The attempt and those that it came from, the independent draft at their beginning first."""
    chain = [attempt]
    while chain[0].parent is not None:
        chain.insert(0, run.attempts[chain[0].parent - 1])
    return tuple(chain)


def repairs_of(lineage: tuple[Attempt, ...]) -> int:
    """How many rounds of repair a lineage has behind it; what costs no call is none."""
    return sum(attempt.action == "repair" for attempt in lineage)
