"""Judges a solution by values: the checks run in a trusted process, the solution in another, and only data passes.

One sandboxed job for each sample. Whatever the solution does in its own process, it can neither read what the checks
expect nor write what becomes of them; see `judging.py`, which runs inside.
"""

from __future__ import annotations

import ast
import math
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from flyteplugins_codegen.errors import RequestError, SandboxError
from flyteplugins_codegen.judging import equality
from flyteplugins_codegen.judging.causes import DETERMINISTIC_ENVIRONMENT, syntax_cause
from flyteplugins_codegen.judging.values.inside import start
from flyteplugins_codegen.judging.values.inside.plain_data import NotPlainError, Writer, write_call, write_text
from flyteplugins_codegen.judging.values.inside.start import ARCHIVE
from flyteplugins_codegen.judging.values.verdict import judge_in_turn, judge_values
from flyteplugins_codegen.models.run import Cause, ValuesReport
from flyteplugins_codegen.sandbox.contract import APP, Execution, Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.payload import module_path, pack_modules

if TYPE_CHECKING:
    from flyteplugins_codegen.judging.values.inside.plain_data import Tree

# What a solution is held against when it is judged by values, and how the judge inside is told of it.


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

    `from_json`: what is expected was read from JSON, which has no tuples, so that a list there stands for either. What
    the pairs hold is written down when the first solution is held against it, and is not to change after that.
    """

    pairs: tuple[Pair, ...]
    relative_tolerance: float = 0.0
    absolute_tolerance: float = 0.0
    from_json: bool = False


Checks: TypeAlias = CheckFunction | AssertList | Pairs


def can_fail(checks: Checks) -> bool:
    """Whether there is anything in them that a solution could fail at."""
    if isinstance(checks, Pairs):
        return bool(checks.pairs)
    texts = [checks.source] if isinstance(checks, CheckFunction) else [checks.setup, *checks.asserts]
    return any(word in text for text in texts for word in ("assert", "raise"))


def case_names(checks: Checks) -> tuple[str, ...]:
    """The names of the cases: `check`, or `assert 1`, `assert 2`, or `pair 1`, `pair 2` and so on."""
    if isinstance(checks, CheckFunction):
        return ("check",)
    kind, cases = ("pair", checks.pairs) if isinstance(checks, Pairs) else ("assert", checks.asserts)
    return tuple(f"{kind} {number}" for number in range(1, len(cases) + 1))


def checks_text(checks: Checks) -> bytes:
    """The checks as the judge reads them. Raises RequestError for a pair that holds what is no plain data."""
    return _written(_Identity(checks))


class _Identity:
    """One object, whatever it is equal to; what it holds may not be hashable."""

    def __init__(self, checks: Checks) -> None:
        self.checks = checks

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.checks is other.checks

    def __hash__(self) -> int:
        return id(self.checks)


@lru_cache(maxsize=16)
def _written(identity: _Identity) -> bytes:
    """Kept, because many solutions in a row are held against the same checks."""
    return text_of(_checks_tree(identity.checks))


def _checks_tree(checks: Checks) -> Tree:
    """The checks as `judging.Plan` takes them: texts by the names that tracebacks show, or pairs and their rule."""
    if isinstance(checks, Pairs):
        pairs = [_told_pair(number, pair) for number, pair in enumerate(checks.pairs, 1)]
        return [[], [pairs, [checks.relative_tolerance, checks.absolute_tolerance], checks.from_json]]
    if isinstance(checks, CheckFunction):
        return [[["context", checks.context], ["checks", checks.source]], None]
    cases = [list(case) for case in zip(case_names(checks), checks.asserts, strict=True)]
    return [[["context", checks.context], ["checks", checks.setup], *cases], None]


def _told_pair(number: int, pair: Pair) -> list[str]:
    """Both as texts, which the judge passes on, or compares, as they are."""
    try:
        # Each by itself: what a call changes in its arguments must not be what is expected of it.
        given = write_call(pair.args, dict(pair.kwargs), _refuse)
        expected = write_text(Writer(_refuse, [], exactly=True).tree(pair.expected))
    except NotPlainError as error:
        raise RequestError(f"pair {number} holds what is no plain data: {error}; judge it by a suite") from None
    return [given.decode(), expected.decode()]


def _refuse(value: Any) -> Tree:
    raise NotPlainError(f"{value!r:.100} is a {type(value).__name__}")


def text_of(told: Tree) -> bytes:
    """What the judge is told. Raises RequestError for what is too long."""
    try:
        return write_text(told)
    except NotPlainError as error:
        raise RequestError(f"the solution and its checks are too long to be judged: {error}") from None


# The program that judges by values inside a sandbox: its files as a job takes them.

COMMAND: Final = ("python", f"{APP}/judge.py")
# Each after those that it imports.
_NAMES: Final = (
    "equality",
    "plain_data",
    "compare",
    "protocol",
    "candidate",
    "batched_calls",
    "proxies",
    "judge",
    "sequence",
)


@cache
def values_program() -> Mapping[str, bytes]:
    """The judge's start and its modules in one archive, which a warm worker imports ahead."""
    sources = {name: _source(name) for name in _NAMES}
    ahead = {**sources, "warm_up": _source("warm_up")}
    return {"judge.py": _source("start"), ARCHIVE: pack_modules(sources, optimize=2, ahead=ahead)}


def _source(name: str) -> bytes:
    path = module_path(equality) if name == "equality" else module_path(start).with_name(f"{name}.py")
    return path.read_bytes()


__all__ = [
    "AssertList",
    "CheckFunction",
    "Checks",
    "Pair",
    "Pairs",
    "ValuesJob",
    "case_names",
    "judged",
    "new_nonce",
    "run_many",
    "run_values",
    "sandboxed",
    "sandboxed_in_turn",
    "values_flaw_before_running",
]

_GRACE_S: Final = 1.0  # for the judge inside, which counts the time itself, to tell what was running when it was up
_REPORT_KIB: Final = 512  # with all the texts that the judge tells, and then a case takes some 60 bytes
_CASES_A_KIB: Final = 8
_NUMBER_BYTES: Final = 4  # of a head, as `turns.py` reads it


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesJob:
    """One solution and its checks. `entry_point` is a name, or an expression such as `Solution().solve`.

    Whether checks can be judged by values is a question about the checks: ask it once, of a solution that is known to
    be right, and judge all solutions alike. A cause `not_by_values` is a failure, never a reason to judge this one
    solution in a way that is easier to fool.
    """

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
    flaw = values_flaw_before_running(job)
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
    running: dict[int, tuple[int, ValuesJob, str]] = {}

    def settle(index: int, result: ValuesReport | SandboxError) -> None:
        results[index] = result
        if on_result:
            on_result(index, result)

    def draw() -> Iterator[Job]:
        numbers = count()
        for index, job in enumerate(jobs):
            flaw = values_flaw_before_running(job)
            if flaw is not None:
                settle(index, ValuesReport(cause=flaw))
                continue
            nonce = new_nonce()
            running[next(numbers)] = index, job, nonce
            yield sandboxed(job, nonce)

    def end(number: int, execution: Execution) -> None:
        index, job, nonce = running.pop(number)
        try:
            settle(index, judged(job, nonce, execution))
        except SandboxError as error:
            settle(index, error)

    sandbox.map(draw(), workers=workers, on_result=end)
    return [results[index] for index in sorted(results)]


def new_nonce() -> str:
    """What seals one job's report."""
    return secrets.token_hex(16)


def values_flaw_before_running(job: ValuesJob) -> Cause | None:
    """Why there is nothing to run: the solution is not Python, or the checks check nothing."""
    if not can_fail(job.checks):
        return Cause(kind="nothing_ran", message="the checks hold no assert, no raise and no pair")
    return syntax_cause(job.solution, "solution.py")


def sandboxed(job: ValuesJob, nonce: str) -> Job:
    """The job that judges it in any sandbox. Raises RequestError for a pair that holds what is no plain data."""
    return sandboxed_in_turn((job,), (nonce,))


def sandboxed_in_turn(jobs: Sequence[ValuesJob], nonces: Sequence[str]) -> Job:
    """The job that judges all of them, one after the other, in one sandbox; variables are the first's.

    Raises RequestError for a pair that holds what is no plain data.
    """
    cases = sum(len(case_names(job.checks)) for job in jobs)
    return Job(
        command=COMMAND,
        program=values_program(),
        env={**DETERMINISTIC_ENVIRONMENT, **jobs[0].env},
        stdin=b"".join(
            _job_text(job, nonce, left=len(jobs) - number)
            for number, (job, nonce) in enumerate(zip(jobs, nonces, strict=True), 1)
        ),
        limits=_with_the_judges([job.limits for job in jobs], cases),
    )


def _job_text(job: ValuesJob, nonce: str, left: int) -> bytes:
    """One solution and its checks as `turns.py` takes them; `left` come after it."""
    told = text_of([nonce, job.limits.wall_s, job.solution, job.entry_point])
    text = told[:-1] + b"," + checks_text(job.checks) + b"]"
    numbers = len(text), math.ceil(job.limits.cpu_s or 0), left
    return b"".join(number.to_bytes(_NUMBER_BYTES, "big") for number in numbers) + text


def _with_the_judges(limits: Sequence[Limits], cases: int) -> Limits:
    """What all may use in turn: the judge is one process more, tells something of each case, and has the last word.

    Where there are several, one more process has them take turns; it holds each to its own processor time. On the clock
    they have together what two may take: one that stops its judge is to hold up the others for no longer.
    """
    report_kib = _REPORT_KIB * len(limits) + cases // _CASES_A_KIB
    times = [each.cpu_s for each in limits]
    return replace(
        limits[0],
        wall_s=min(len(limits), 2) * max(each.wall_s for each in limits) + _GRACE_S,
        cpu_s=None if None in times else sum(math.ceil(time or 0) for time in times) if len(times) > 1 else times[0],
        memory_mib=max(each.memory_mib for each in limits),
        processes=max(each.processes for each in limits) + min(len(limits), 2),
        stream_kib=max(limits[0].stream_kib, report_kib),
    )


def judged(job: ValuesJob, nonce: str, execution: Execution) -> ValuesReport:
    """What an execution of the sandboxed job says of the solution. Raises SandboxError where it is not to blame."""
    return judge_values(execution, nonce, case_names(job.checks), job.limits)


# Several solutions judged by values in one sandbox, one after the other, each by a judge of its own.


@dataclass(frozen=True, slots=True)
class Batch:
    """Solutions that share a sandbox, alike in variables and in all limits but time; `nonces` seal their reports."""

    jobs: tuple[ValuesJob, ...]
    nonces: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nonces", tuple(new_nonce() for _ in self.jobs))


def sandboxed_batch(batch: Batch) -> Job:
    """The job that judges all of them. Raises RequestError for a pair that holds what is no plain data."""
    return sandboxed_in_turn(batch.jobs, batch.nonces)


def judged_batch(batch: Batch, execution: Execution) -> list[ValuesReport | None]:
    """A report for each; None for what is to be judged anew, which is never the only one.

    Raises SandboxError where the machine is to blame.
    """
    if len(batch.jobs) == 1:
        return [judged(batch.jobs[0], batch.nonces[0], execution)]
    return judge_in_turn(execution, batch.nonces, [case_names(job.checks) for job in batch.jobs])
