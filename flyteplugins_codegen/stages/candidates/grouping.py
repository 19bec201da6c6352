"""Candidates grouped by what they do, and the groups ranked.

Two ideas are put together. CodeT (Chen et al. 2022, arXiv 2207.10397) groups solutions by the generated tests that they
pass, and scores a group by the size of both sets; as in the authors' own program, the root of the number of solutions
is taken, for many that err alike are common, and tests that are passed by chance are not. MBR-exec (Shi et al. 2022,
arXiv 2204.11454) takes the candidate whose outputs most others share: here candidates are of one group only where their
outputs are the same on every input. Neither is asked before what the user gave: see `is_trusted`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from flyteplugins_codegen.models.agreement import Group
from flyteplugins_codegen.models.report import TestReport
from flyteplugins_codegen.models.run import Attempt
from flyteplugins_codegen.stages.candidates.sameness import failed_tests, is_trusted, passed_tests, same_outputs


def group_attempts(attempts: Sequence[Attempt]) -> tuple[Group, ...]:
    """The attempts that pass what the user gave, in groups, the best first; the order of `attempts` changes nothing.

    Being within a tolerance is not transitive: whoever does the same as any one of a group belongs to it.
    """
    groups: list[list[Attempt]] = []
    for attempt in sorted(attempts, key=lambda attempt: attempt.number):
        if is_trusted(attempt.report):
            alike = [any(does_same(attempt, member) for member in group) for group in groups]
            joined = [member for group, is_alike in zip(groups, alike, strict=True) if is_alike for member in group]
            others = [group for group, is_alike in zip(groups, alike, strict=True) if not is_alike]
            groups = [*others, [*joined, attempt]]
    return tuple(sorted((_group(members) for members in groups), key=_rank))


def score(size: int, passed: int) -> float:
    """Of a group of that many candidates that pass that many generated tests: it grows with either."""
    return math.sqrt(size) * (1 + passed)  # one more than in the paper: groups differ in size where there are no tests


def does_same(one: Attempt, other: Attempt) -> bool:
    """Whether two attempts left the same outputs and, judged by the same tests, passed the same of them."""
    first, second = _report(one), _report(other)
    if one.candidate.tests == other.candidate.tests and set(passed_tests(first)) != set(passed_tests(second)):
        return False
    return same_outputs(first, second)


def _group(members: Sequence[Attempt]) -> Group:
    report = _report(members[0])
    passed, failed = passed_tests(report), failed_tests(report)
    numbers = tuple(sorted(attempt.number for attempt in members))
    return Group(attempts=numbers, passed=passed, failed=failed, score=score(len(members), len(passed)))


def _rank(group: Group) -> tuple[float, int]:
    return -group.score, group.attempts[0]


def _report(attempt: Attempt) -> TestReport:
    return attempt.report or TestReport()
