"""Judges a solution by values: the checks run in a trusted process, the solution in another, and only data passes.

One sandboxed job for each sample. Whatever the solution does in its own process, it can neither read what the checks
expect nor write what becomes of them; see `judging.py`, which runs inside.
"""

from __future__ import annotations

import ast
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from flyteplugins_codegen.errors import RequestError, SandboxError
from flyteplugins_codegen.models.report import Cause, ValuesReport
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.plain_data import NotPlainError, Writer, write_text
from flyteplugins_codegen.sandbox.python_errors import syntax_cause
from flyteplugins_codegen.sandbox.steady import STEADY_ENVIRONMENT
from flyteplugins_codegen.sandbox.values_program import COMMAND, values_program
from flyteplugins_codegen.sandbox.values_verdict import judge_values

if TYPE_CHECKING:
    from flyteplugins_codegen.sandbox.plain_data import Tree

_GRACE_S: Final = 1.0  # for the judge inside, which counts the time itself, to tell what was running when it was up
_REPORT_KIB: Final = 16 << 10  # some 60 bytes for each case that passes


@dataclass(frozen=True, slots=True)
class CheckFunction:
    """HumanEval's kind: `source` defines `check(candidate)`, with its imports and helpers.

    `context` is trusted source whose names the check may use, such as the problem's prompt with its helper functions;
    what only the solution defines is never trusted with a comparison.
    """

    source: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class AssertList:
    """MBPP's kind: each of `asserts` is a case, run in turn after `setup` in one namespace; `context` as above.

    An entry may be more than one statement, such as one of MBPP+'s test scripts as a whole.
    """

    asserts: tuple[str, ...]
    setup: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """The arguments of one call and what it is expected to return, all of them plain data (see `plain_data`)."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = None


@dataclass(frozen=True, slots=True)
class Pairs:
    """Examples of input and output, compared as `comparison` says, floats within the tolerances of `math.isclose`.

    `from_json`: what is expected was read from JSON, which has no tuples, so that a list there stands for either.
    """

    pairs: tuple[Pair, ...]
    relative_tolerance: float = 0.0
    absolute_tolerance: float = 0.0
    from_json: bool = False


Checks: TypeAlias = CheckFunction | AssertList | Pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesJob:
    """One solution and its checks. `entry_point` is a name, or an expression such as `Solution().solve`."""

    solution: str
    entry_point: str
    checks: Checks
    limits: Limits = field(default_factory=Limits)
    env: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            ast.parse(self.entry_point, mode="eval")
        except (SyntaxError, ValueError):
            raise RequestError(f"entry point {self.entry_point!r} is no Python expression; give a name") from None


def run_values(sandbox: Sandbox, job: ValuesJob) -> ValuesReport:
    """Judge one solution.

    Raises:
        RequestError: a pair holds what is no plain data.
        SandboxError: the sandbox failed, or its interpreter cannot run the judge; the candidate is not to blame.
    """
    flaw = flaw_before_running(job)
    if flaw is not None:
        return ValuesReport(cause=flaw)
    nonce = new_nonce()
    return judged(job, nonce, sandbox.run(sandboxed(job, nonce)))


def run_many(
    sandbox: Sandbox,
    jobs: Iterable[ValuesJob],
    *,
    workers: int = 2,
    on_result: Callable[[int, ValuesReport | SandboxError], None] | None = None,
) -> list[ValuesReport | SandboxError]:
    """Judge many solutions; results are in the order of the jobs, `on_result(index, result)` is called as each ends.

    A job that the sandbox failed is given as its SandboxError. Jobs are drawn as they are needed. Raises RequestError
    for a pair that holds what is no plain data.
    """
    results: dict[int, ValuesReport | SandboxError] = {}
    waiting: list[tuple[int, ValuesJob, str]] = []

    def settle(index: int, result: ValuesReport | SandboxError) -> None:
        results[index] = result
        if on_result:
            on_result(index, result)

    def draw() -> Iterator[Job]:
        for index, job in enumerate(jobs):
            flaw = flaw_before_running(job)
            if flaw is not None:
                settle(index, ValuesReport(cause=flaw))
                continue
            waiting.append((index, job, new_nonce()))
            yield sandboxed(job, waiting[-1][2])

    def end(number: int, execution: Execution) -> None:
        index, job, nonce = waiting[number]
        try:
            settle(index, judged(job, nonce, execution))
        except SandboxError as error:
            settle(index, error)

    sandbox.map(draw(), workers=workers, on_result=end)
    return [results[index] for index in sorted(results)]


def new_nonce() -> str:
    """What seals one job's report."""
    return secrets.token_hex(16)


def flaw_before_running(job: ValuesJob) -> Cause | None:
    """Why there is nothing to run: the solution is not Python, or the checks check nothing."""
    if not _can_fail(job.checks):
        return Cause(kind="nothing_ran", message="the checks hold no assert, no raise and no pair")
    return syntax_cause(job.solution, "solution.py")


def _can_fail(checks: Checks) -> bool:
    if isinstance(checks, Pairs):
        return bool(checks.pairs)
    texts = [checks.source] if isinstance(checks, CheckFunction) else [checks.setup, *checks.asserts]
    return any(word in text for text in texts for word in ("assert", "raise"))


def sandboxed(job: ValuesJob, nonce: str) -> Job:
    """The job that judges it in any sandbox. Raises RequestError for a pair that holds what is no plain data."""
    limits = replace(
        job.limits, wall_s=job.limits.wall_s + _GRACE_S, stream_kib=max(job.limits.stream_kib, _REPORT_KIB)
    )
    told = [nonce, job.limits.wall_s, job.solution, job.entry_point, _told(job.checks)]
    return Job(
        command=COMMAND,
        program=values_program(),
        env={**STEADY_ENVIRONMENT, **job.env},
        stdin=_text(told),
        limits=limits,
    )


def judged(job: ValuesJob, nonce: str, execution: Execution) -> ValuesReport:
    """What an execution of the sandboxed job says of the solution. Raises SandboxError where it is not to blame."""
    return judge_values(execution, nonce, case_names(job.checks), job.limits)


def case_names(checks: Checks) -> tuple[str, ...]:
    """The names of the cases: `check`, or `assert 1`, `assert 2`, or `pair 1`, `pair 2` and so on."""
    if isinstance(checks, CheckFunction):
        return ("check",)
    kind, cases = ("pair", checks.pairs) if isinstance(checks, Pairs) else ("assert", checks.asserts)
    return tuple(f"{kind} {number}" for number in range(1, len(cases) + 1))


def _told(checks: Checks) -> Tree:
    """The checks as `judging.Plan` takes them: texts by the names that tracebacks show, or pairs and their rule."""
    if isinstance(checks, Pairs):
        pairs = [_told_pair(number, pair) for number, pair in enumerate(checks.pairs, 1)]
        return [[], [pairs, [checks.relative_tolerance, checks.absolute_tolerance], checks.from_json]]
    if isinstance(checks, CheckFunction):
        return [[["context", checks.context], ["checks", checks.source]], None]
    cases = [list(case) for case in zip(case_names(checks), checks.asserts, strict=True)]
    return [[["context", checks.context], ["checks", checks.setup], *cases], None]


def _told_pair(number: int, pair: Pair) -> Tree:
    try:
        # Each by itself: what a call changes in its arguments must not be what is expected of it.
        return [
            Writer(_refuse, [], exactly=True).tree(part) for part in ((pair.args, dict(pair.kwargs)), pair.expected)
        ]
    except NotPlainError as error:
        raise RequestError(f"pair {number} holds what is no plain data: {error}; judge it by a suite") from None


def _refuse(value: Any) -> Tree:
    raise NotPlainError(f"{value!r:.100} is a {type(value).__name__}")


def _text(told: Tree) -> bytes:
    try:
        return write_text(told)
    except NotPlainError as error:
        raise RequestError(f"the solution and its checks are too long to be judged: {error}") from None
