"""What a run's candidates come to at its end: the one that stands for the run, and where they differed."""

from __future__ import annotations

from collections.abc import Sequence

from flyteplugins_codegen.models.agreement import Disagreement
from flyteplugins_codegen.models.request import Request
from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.stages.candidates.choosing import choose
from flyteplugins_codegen.stages.candidates.differing import find_disagreement
from flyteplugins_codegen.stages.lineage import base_attempt
from flyteplugins_codegen.stages.outcome import best_attempt


def final_attempt(run: Run) -> Attempt | None:
    """The attempt that was chosen last where it passed, else the one of all that came farthest."""
    if not run.attempts:
        return None
    base = base_attempt(run)
    return base if base.report is not None and base.report.passed else best_attempt(run.attempts)


def disagreement_of(request: Request, attempts: Sequence[Attempt]) -> Disagreement | None:
    """Where candidates of one round differ that pass what the user gave; undecided, those that pass everything."""
    choice = choose(attempts)
    among = [group for group in choice.groups if group.passes_all or not choice.is_undecided]
    return find_disagreement(request, among, attempts)


def last_disagreement(run: Run) -> Disagreement | None:
    """Of the last round in which several candidates were made at once, whether one of them was chosen or none."""
    rounds = [[each for each in run.attempts if each.round_number == number] for number in _rounds(run)]
    several = [attempts for attempts in rounds if len(attempts) > 1]
    return disagreement_of(run.request, several[-1]) if several else None


def _rounds(run: Run) -> list[int]:
    return sorted({attempt.round_number for attempt in run.attempts})
