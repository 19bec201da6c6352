"""Whether two candidates did the same, told from their reports alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from pydantic import JsonValue

from flyteplugins_codegen.judging.equality import CANDIDATE_OUTPUTS, are_close
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.run import Attempt, Group, Run, ScriptRun, SuiteReport, TestReport
from flyteplugins_codegen.models.spending import ModelCall

_JUDGING_KINDS = frozenset({"test_failed"})


def is_trusted(report: TestReport | None) -> bool:
    """Whether everything that the user gave is passed: examples, own tests, and the script on the samples."""
    if report is None or report.build_cause is not None or not (report.runs or report.suites):
        return False
    return all(run.passed for run in report.runs) and all(s.passed for s in report.suites if s.origin == "user")


def same_outputs(one: TestReport, other: TestReport) -> bool:
    """Whether every run of the script left the same outputs: floats within a tolerance, files by what they read as.

    What cannot be told does not count: see `can_be_compared`.
    """
    return differing_run(one, other) is None


def differing_run(one: TestReport, other: TestReport) -> tuple[ScriptRun, ScriptRun] | None:
    """The first run of the script on which two candidates left other outputs, as either had it."""
    others = {run.case: run for run in other.runs}
    pairs = ((run, others[run.case]) for run in one.runs if run.case in others)
    return next((pair for pair in pairs if differing_output(*pair) is not None), None)


def differing_output(one: ScriptRun, other: ScriptRun) -> str | None:
    """The name of the first output that is not the same in two runs."""
    names = dict.fromkeys([*one.outputs, *other.outputs])
    return next((name for name in names if _are_same(one.outputs.get(name), other.outputs.get(name)) is False), None)


def can_be_compared(one: TestReport, other: TestReport) -> bool:
    """Whether any output of two candidates says anything of whether they did the same."""
    others = {run.case: run for run in other.runs}
    return any(
        _are_same(value, others[run.case].outputs.get(name)) is not None
        for run in one.runs
        if run.case in others
        for name, value in run.outputs.items()
    )


def passed_tests(report: TestReport) -> tuple[str, ...]:
    """The generated tests that were passed; none of a suite whose verdict is not its tests' own."""
    return tuple(
        test.name
        for suite in _generated(report)
        if suite.cause is None or suite.cause.kind in _JUDGING_KINDS
        for test in suite.tests
        if test.outcome == "passed"
    )


def failed_tests(report: TestReport) -> tuple[str, ...]:
    """The generated tests that were not passed. A suite that failed as a whole goes by the name of its cause."""
    passed = set(passed_tests(report))
    names = [name for suite in _generated(report) for name in suite.expected if name not in passed]
    whole = [suite.cause.kind for suite in _generated(report) if suite.cause is not None]
    return tuple(names) or tuple(whole)


def is_judged_by_tests(report: TestReport) -> bool:
    """Whether the generated tests that failed did so one by one, each of them a verdict of its own."""
    return all(suite.cause is None or suite.cause.kind in _JUDGING_KINDS for suite in _generated(report))


def _generated(report: TestReport) -> Iterator[SuiteReport]:
    return (suite for suite in report.suites if suite.origin == "generated")


def _are_same(one: JsonValue, other: JsonValue) -> bool | None:
    """None of files that are no text and have other bytes: a picture or a workbook may be the same all the same."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        if "text_sha256" in one and "text_sha256" in other:
            return one["text_sha256"] == other["text_sha256"]
        is_binary = "text_sha256" not in one and "text_sha256" not in other
        return True if one.get("sha256") == other.get("sha256") else None if is_binary else False
    if isinstance(one, float) and isinstance(other, float):
        return are_close(one, other, CANDIDATE_OUTPUTS)
    return type(one) is type(other) and one == other


# How many candidates may be asked for at once, by what is left of the budget and of the iterations.


def affordable_drafts(run: Run, wanted: int, calls_beside: int = 0) -> int:
    """As many of the drafts that are wanted at once as there is room for; one at least, which the budget then decides.

    `calls_beside` are made at the same time for something else. What a solution takes is not known before there was
    one: the largest call so far stands for it.
    """
    budget = run.settings.budget
    room = [
        wanted,
        run.settings.max_iterations - len(run.attempts),
        _room(run, budget.max_calls, lambda _: 1) - calls_beside,
        _room(run, budget.max_tokens, lambda call: call.usage.input_tokens + call.usage.output_tokens),
        _room(run, budget.max_cost_usd, lambda call: call.cost_usd or 0.0),
    ]
    return max(1, int(min(room)))


def _room(run: Run, bound: float | None, measure: Callable[[ModelCall], float]) -> float:
    """How often the largest call so far still fits below the bound."""
    largest = max(map(measure, run.calls), default=0) or measure(ModelCall(purpose="solution", model=""))
    if bound is None or not largest:
        return float("inf")
    return (bound - sum(measure(call) for call in run.calls if not call.is_reused)) / largest


# Candidates grouped by what they do, and the groups ranked.


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


# Which of several judged candidates to go on with, and whether their disagreement leaves none to be trusted.


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
