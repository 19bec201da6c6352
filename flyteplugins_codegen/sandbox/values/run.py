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
from itertools import count
from typing import Final

from flyteplugins_codegen.errors import RequestError, SandboxError
from flyteplugins_codegen.models.report import Cause, ValuesReport
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.python_errors import syntax_cause
from flyteplugins_codegen.sandbox.steady import STEADY_ENVIRONMENT
from flyteplugins_codegen.sandbox.values.checks import (
    AssertList,
    CheckFunction,
    Checks,
    Pair,
    Pairs,
    can_fail,
    case_names,
    checks_text,
    text_of,
)
from flyteplugins_codegen.sandbox.values.program import COMMAND, values_program
from flyteplugins_codegen.sandbox.values.verdict import judge_values

__all__ = [
    "AssertList",
    "CheckFunction",
    "Checks",
    "Pair",
    "Pairs",
    "ValuesJob",
    "case_names",
    "flaw_before_running",
    "judged",
    "new_nonce",
    "run_many",
    "run_values",
    "sandboxed",
    "sandboxed_in_turn",
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
    running: dict[int, tuple[int, ValuesJob, str]] = {}

    def settle(index: int, result: ValuesReport | SandboxError) -> None:
        results[index] = result
        if on_result:
            on_result(index, result)

    def draw() -> Iterator[Job]:
        numbers = count()
        for index, job in enumerate(jobs):
            flaw = flaw_before_running(job)
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


def flaw_before_running(job: ValuesJob) -> Cause | None:
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
        env={**STEADY_ENVIRONMENT, **jobs[0].env},
        stdin=b"".join(
            _told(job, nonce, left=len(jobs) - number)
            for number, (job, nonce) in enumerate(zip(jobs, nonces, strict=True), 1)
        ),
        limits=_with_the_judges([job.limits for job in jobs], cases),
    )


def _told(job: ValuesJob, nonce: str, left: int) -> bytes:
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
