"""Which of several judged candidates to go on with, and whether their disagreement leaves none to be trusted."""

from __future__ import annotations

from collections.abc import Sequence

from flyteplugins_codegen.models.agreement import Group
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.run import Attempt
from flyteplugins_codegen.stages.candidates.grouping import group_attempts
from flyteplugins_codegen.stages.candidates.sameness import is_judged_by_tests


class Choice(Value):
    """What the candidates of one round come to. `groups` are those that pass what the user gave, the best first.

    `attempt` is the number of the one to go on with, None where none passes what the user gave. `outvoted` are the
    generated tests that it fails with most of the others. `is_undecided`: several groups pass everything, and none of
    them has more candidates than all the others together.
    """

    groups: tuple[Group, ...] = ()
    attempt: int | None = None
    outvoted: tuple[str, ...] = ()
    is_undecided: bool = False


def choose(attempts: Sequence[Attempt]) -> Choice:
    """Choose among candidates that were made at once and judged by the same tests. Pure, whatever their order.

    The best group has the word where most candidates belong to it: tests that it fails are outvoted. Else the tests
    decide: the groups that pass all of them are left, one of them or the one that most of these belong to is chosen.
    """
    groups = group_attempts(attempts)
    if not groups:
        return Choice()
    if _is_majority(groups[0], groups) and _may_outvote(groups[0], attempts):
        return _chosen(groups, groups[0], attempts)
    passing = tuple(group for group in groups if group.passes_all)
    if not passing:
        return _chosen(groups, groups[0], attempts)
    is_decided = len(passing) == 1 or _is_majority(passing[0], passing)
    return _chosen(groups, passing[0], attempts).model_copy(update={"is_undecided": not is_decided})


def _chosen(groups: tuple[Group, ...], group: Group, attempts: Sequence[Attempt]) -> Choice:
    """The shortest script of the group stands for it: what does the same with less is easier to review."""
    members = [attempt for attempt in attempts if attempt.number in group.attempts]
    best = min(members, key=lambda attempt: (len(attempt.candidate.solution.code), attempt.number))
    can_outvote = _is_majority(group, groups) and _may_outvote(group, attempts)
    return Choice(groups=groups, attempt=best.number, outvoted=group.failed if can_outvote else ())


def _is_majority(group: Group, among: Sequence[Group]) -> bool:
    """Whether more than half of the candidates belong to it, and it is more than one voice."""
    return len(group.attempts) > 1 and 2 * len(group.attempts) > sum(len(each.attempts) for each in among)


def _may_outvote(group: Group, attempts: Sequence[Attempt]) -> bool:
    """Tests are doubted one by one, and by candidates that pass some: a suite that is wrong as a whole is repaired."""
    member = next(attempt for attempt in attempts if attempt.number == group.attempts[0])
    judged = member.report is not None and is_judged_by_tests(member.report)
    return group.passes_all or (judged and bool(group.passed))
