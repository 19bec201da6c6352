"""Which of several candidates to go on with: those that behave alike form groups, and the groups are ranked.

It combines two ideas. CodeT (Chen et al. 2022, arXiv 2207.10397) groups solutions by the generated tests that they
pass, and scores a group by the size of both sets. As in the authors' own program, the square root of the number of
solutions is taken: solutions that make the same mistake are common, tests that pass by chance are not. MBR-exec (Shi et
al. 2022, arXiv 2204.11454) takes the candidate whose outputs most others share; here candidates form a group only if
their outputs are the same on every input. The user's checks come before both: see `is_trusted`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from flyteplugins_codegen.judging.equality import CANDIDATE_OUTPUTS, are_close
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.reference import REFERENCE_FILE
from flyteplugins_codegen.models.run import Attempt, Group, ScriptRun, SuiteReport, TestReport

_JUDGING_KINDS = frozenset({"test_failed"})


def is_trusted(report: TestReport | None) -> bool:
    """Whether all of the user's checks passed: the examples, the user's tests, and the script on the samples."""
    if report is None or report.build_cause is not None or not (report.runs or report.suites):
        return False
    return all(run.passed for run in report.runs) and all(s.passed for s in report.suites if s.origin == "user")


def same_outputs(one: TestReport, other: TestReport) -> bool:
    """Whether all runs of the script left the same outputs: floats within a tolerance, text files by their text.

    Outputs that cannot be compared do not count; see `can_be_compared`.
    """
    return differing_run(one, other) is None


def differing_run(one: TestReport, other: TestReport) -> tuple[ScriptRun, ScriptRun] | None:
    """The first case on which the outputs of two candidates differ, as a run of each; None if there is none."""
    pairs = _same_cases(one, other)
    return next((pair for pair in pairs if differing_output(*pair) is not None), None)


def differing_output(one: ScriptRun, other: ScriptRun) -> str | None:
    """The name of the first output that differs between two runs."""
    names = dict.fromkeys([*one.outputs, *other.outputs])
    return next((name for name in names if _are_same(one.outputs.get(name), other.outputs.get(name)) is False), None)


def can_be_compared(one: TestReport, other: TestReport) -> bool:
    """Whether two candidates have at least one output that can be compared."""
    return any(
        _are_same(value, twin.outputs.get(name)) is not None
        for run, twin in _same_cases(one, other)
        for name, value in run.outputs.items()
    )


def _same_cases(one: TestReport, other: TestReport) -> Iterator[tuple[ScriptRun, ScriptRun]]:
    """The runs of both on the same case; on the samples, with the same values of the other inputs."""
    others = {run.case: run for run in other.runs}
    pairs = ((run, others[run.case]) for run in one.runs if run.case in others)
    return (pair for pair in pairs if pair[0].arguments == pair[1].arguments)


def passed_generated_tests(report: TestReport) -> tuple[str, ...]:
    """The generated tests that passed; the reference counts as one. A suite that failed as a whole has none."""
    tests = tuple(
        test.name
        for suite in _generated(report)
        if suite.cause is None or suite.cause.kind in _JUDGING_KINDS
        for test in suite.tests
        if test.outcome == "passed"
    )
    return (*tests, REFERENCE_FILE) if report.reference is not None and report.reference.agrees else tests


def failed_generated_tests(report: TestReport) -> tuple[str, ...]:
    """The generated tests that did not pass; the reference counts as one if it differs.

    A suite that failed as a whole is listed by the kind of its cause.
    """
    passed = set(passed_generated_tests(report))
    names = [name for suite in _generated(report) for name in suite.expected if name not in passed]
    names += [REFERENCE_FILE] if report.reference_cause is not None else []
    kinds = [suite.cause.kind for suite in _generated(report) if suite.cause is not None]
    return tuple(names) or tuple(kinds)


def is_judged_by_tests(report: TestReport) -> bool:
    """Whether the generated tests have a verdict each, so that no suite failed as a whole."""
    return all(suite.cause is None or suite.cause.kind in _JUDGING_KINDS for suite in _generated(report))


def _generated(report: TestReport) -> Iterator[SuiteReport]:
    return (suite for suite in report.suites if suite.origin == "generated")


def _are_same(one: JsonValue, other: JsonValue) -> bool | None:
    """None for binary files with different bytes: images or workbooks with equal content may differ in bytes."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        if "text_sha256" in one and "text_sha256" in other:
            return one["text_sha256"] == other["text_sha256"]
        is_binary = "text_sha256" not in one and "text_sha256" not in other
        return True if one.get("sha256") == other.get("sha256") else None if is_binary else False
    if isinstance(one, float) and isinstance(other, float):
        return are_close(one, other, CANDIDATE_OUTPUTS)
    return type(one) is type(other) and one == other


# --- groups ---


def group_attempts(attempts: Sequence[Attempt]) -> tuple[Group, ...]:
    """The attempts that pass the user's checks, grouped by behaviour, the best group first.

    Equality within a tolerance is not transitive: an attempt belongs to a group if it equals any member. The order of
    `attempts` does not matter.
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
    """The score of a group of `size` candidates that pass `passed` generated tests; it grows with both."""
    return math.sqrt(size) * (1 + passed)  # + 1, unlike the paper: without tests, the size decides


def does_same(one: Attempt, other: Attempt) -> bool:
    """Whether two attempts have the same outputs and, if they have the same tests, pass the same ones."""
    first, second = _report(one), _report(other)
    if one.candidate.tests == other.candidate.tests and set(passed_generated_tests(first)) != set(
        passed_generated_tests(second)
    ):
        return False
    return same_outputs(first, second) and _differ_alike(first, second)


def _differ_alike(one: TestReport, other: TestReport) -> bool:
    """Whether not both differ from the reference, or both in the same way."""
    first = one.reference and one.reference.difference
    second = other.reference and other.reference.difference
    if not (first and second):
        return True
    return (first.case, first.output_name, first.solution_answer) == (
        second.case,
        second.output_name,
        second.solution_answer,
    )


def _group(members: Sequence[Attempt]) -> Group:
    report = _report(members[0])
    passed, failed = passed_generated_tests(report), failed_generated_tests(report)
    numbers = tuple(sorted(attempt.number for attempt in members))
    return Group(attempts=numbers, passed=passed, failed=failed, score=score(len(members), len(passed)))


def _rank(group: Group) -> tuple[float, int]:
    return -group.score, group.attempts[0]


def _report(attempt: Attempt) -> TestReport:
    return attempt.report or TestReport()


# --- the choice ---


class Choice(Value):
    """The choice among the candidates of one round. `groups` are those that pass the user's checks, the best first.

    `attempt` is the number of the attempt to go on with, None if none passes the user's checks. `outvoted` are the
    generated tests that the attempt and most others fail. `is_undecided`: several groups pass everything, and none of
    them has more candidates than all the others together.
    """

    groups: tuple[Group, ...] = ()
    attempt: int | None = None
    outvoted: tuple[str, ...] = ()
    is_undecided: bool = False


def choose(attempts: Sequence[Attempt]) -> Choice:
    """Choose among candidates that were made at once and judged by the same tests. Pure; their order does not matter.

    If most candidates belong to the best group, it is chosen, and the tests that it fails are outvoted. Otherwise the
    tests decide among the groups that pass all of them: the only such group, or the one with the majority of their
    candidates.
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
    # The shortest script represents the group: it is the easiest to review.
    members = [attempt for attempt in attempts if attempt.number in group.attempts]
    best = min(members, key=lambda attempt: (len(attempt.candidate.solution.code), attempt.number))
    can_outvote = _is_majority(group, groups) and _may_outvote(group, attempts)
    return Choice(groups=groups, attempt=best.number, outvoted=group.failed if can_outvote else ())


def _is_majority(group: Group, among: Sequence[Group]) -> bool:
    """Whether the group has more than half of all candidates, and more than one."""
    return len(group.attempts) > 1 and 2 * len(group.attempts) > sum(len(other.attempts) for other in among)


def _may_outvote(group: Group, attempts: Sequence[Attempt]) -> bool:
    """Whether the group may outvote tests: it passes some of them, and no suite failed as a whole."""
    member = next(attempt for attempt in attempts if attempt.number == group.attempts[0])
    judged = member.report is not None and is_judged_by_tests(member.report)
    return group.passes_all or (judged and bool(group.passed))
