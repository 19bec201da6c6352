"""Which attempt came from which: rounds, lineages, and the attempt that a run goes on from."""

from __future__ import annotations

from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.stages.candidates.choosing import choose
from flyteplugins_codegen.stages.outcome import best_attempt


def pending_attempts(run: Run) -> tuple[Attempt, ...]:
    """The attempts that have not been judged yet."""
    return tuple(attempt for attempt in run.attempts if attempt.report is None)


def pending_attempt(run: Run) -> Attempt | None:
    """The first attempt that has not been judged yet."""
    return next(iter(pending_attempts(run)), None)


def newest_round(run: Run) -> tuple[Attempt, ...]:
    """The attempts that were made last, all at once."""
    return tuple(attempt for attempt in run.attempts if attempt.round_number == run.attempts[-1].round_number)


def base_attempt(run: Run) -> Attempt:
    """The attempt that the run goes on from: the one that is chosen of the newest round, else what came farthest in it.

    Raises IndexError for a run without attempts.
    """
    attempts = newest_round(run)
    chosen = choose(attempts).attempt
    return next((each for each in attempts if each.number == chosen), best_attempt(attempts) or attempts[-1])


def lineage_of(run: Run, attempt: Attempt) -> tuple[Attempt, ...]:
    """The attempt and those that it came from, the independent draft at their beginning first."""
    chain = [attempt]
    while chain[0].parent is not None:
        chain.insert(0, run.attempts[chain[0].parent - 1])
    return tuple(chain)


def repairs_of(lineage: tuple[Attempt, ...]) -> int:
    """How many rounds of repair a lineage has behind it, those in vain too; what costs no call is none."""
    return sum(attempt.action == "repair" for attempt in lineage)
