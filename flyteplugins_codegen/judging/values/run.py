"""Judges a solution by values: trusted tests run in one process, the solution in another, and only data passes between.

A sandboxed job holds one solution, or several that are judged one after the other. Whatever a solution does in its own
process, it can neither read the expected values nor write the verdict. `inside/` is the program that runs there, from
`inside/start.py` on; `docs/judging.md` explains all of it on one page.
"""

from __future__ import annotations

import ast
import math
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from typing import Final

from flyteplugins_codegen.errors import RequestError, SandboxError
from flyteplugins_codegen.judging import equality
from flyteplugins_codegen.judging.causes import DETERMINISTIC_ENVIRONMENT, syntax_cause
from flyteplugins_codegen.judging.values.inside import start
from flyteplugins_codegen.judging.values.inside.start import ARCHIVE
from flyteplugins_codegen.judging.values.tests import ValuesTests, can_fail, case_names, message_text, render_tests
from flyteplugins_codegen.judging.values.verdict import judge_sequence, judge_values
from flyteplugins_codegen.models.run import Cause, ValuesReport
from flyteplugins_codegen.sandbox.contract import APP, Execution, Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.payload import module_path, pack_modules

COMMAND: Final = ("python", f"{APP}/judge.py")
# Each module comes after those that it imports.
_MODULES: Final = (
    *("plain_data", "compare", "protocol", "candidate"),
    *("batched_calls", "proxies", "judge", "sequence"),
)
_GRACE_S: Final = 1.0  # the judge inside keeps the time itself; it needs a moment more to report what was running
_REPORT_KIB: Final = 512  # for all texts of a report; each case takes some 60 bytes more
_CASES_PER_KIB: Final = 8
_NUMBER_BYTES: Final = 4  # of a number in a head, as `inside/sequence.py` reads it


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesJob:
    """One solution and its tests. `entry_point` is a name, or an expression such as `Solution().solve`.

    `context` is trusted source whose names the tests may use, such as the problem's prompt with its helper functions;
    a name that only the solution defines is never trusted with a comparison.

    Whether tests can be judged by values is a question about the tests: ask it once, with a solution that is known to
    be right, and judge all solutions alike. A cause `not_by_values` is a failure, never a reason to judge this one
    solution in a way that is easier to fool.
    """

    solution: str
    entry_point: str
    tests: ValuesTests
    context: str = ""
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
        RequestError: a pair holds something that is not plain data.
        SandboxError: the sandbox failed, or its interpreter cannot run the judge; the candidate is not to blame.
    """
    flaw = values_flaw_before_running(job)
    if flaw is not None:
        return ValuesReport(cause=flaw)
    nonce = new_nonce()
    return values_report(job, nonce, sandbox.run(values_sandbox_job(job, nonce)))


def run_many(
    sandbox: Sandbox,
    jobs: Iterable[ValuesJob],
    *,
    workers: int = 2,
    on_result: Callable[[int, ValuesReport | SandboxError], None] | None = None,
) -> list[ValuesReport | SandboxError]:
    """Judge many solutions; results are in the order of the jobs, `on_result(index, result)` is called as each ends.

    For a job that the sandbox failed the result is the SandboxError. Jobs are drawn as they are needed. Raises
    RequestError for a pair that holds something that is not plain data.
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
            yield values_sandbox_job(job, nonce)

    def end(number: int, execution: Execution) -> None:
        index, job, nonce = running.pop(number)
        try:
            settle(index, values_report(job, nonce, execution))
        except SandboxError as error:
            settle(index, error)

    sandbox.map(draw(), workers=workers, on_result=end)
    return [results[index] for index in sorted(results)]


def new_nonce() -> str:
    """A random key that seals the report of one job."""
    return secrets.token_hex(16)


def values_flaw_before_running(job: ValuesJob) -> Cause | None:
    """The cause if there is nothing to run: the solution is not Python, or the tests cannot fail."""
    if not can_fail(job.tests):
        return Cause(kind="nothing_ran", message="the checks hold no assert, no raise and no pair")
    return syntax_cause(job.solution, "solution.py")


def values_sandbox_job(job: ValuesJob, nonce: str) -> Job:
    """The sandboxed job that judges one solution. Raises RequestError for a pair that is not plain data."""
    return _sandbox_job((job,), (nonce,))


def values_report(job: ValuesJob, nonce: str, execution: Execution) -> ValuesReport:
    """The verdict on one solution. Raises SandboxError if the solution is not to blame for a failure."""
    return judge_values(execution, nonce, case_names(job.tests), job.limits)


@dataclass(frozen=True, slots=True)
class ValuesBatch:
    """Solutions judged one after the other in one sandbox, each by a judge process of its own.

    They have the same environment variables, and the same limits except for time; `nonces` seal their reports.
    """

    jobs: tuple[ValuesJob, ...]
    nonces: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nonces", tuple(new_nonce() for _ in self.jobs))

    def sandbox_job(self) -> Job:
        """The sandboxed job that judges all of them. Raises RequestError for a pair that is not plain data."""
        return _sandbox_job(self.jobs, self.nonces)

    def reports(self, execution: Execution) -> list[ValuesReport | None]:
        """A report for each solution; None for one that must be judged again, which never happens to a single one.

        Raises SandboxError if the machine is to blame.
        """
        if len(self.jobs) == 1:
            return [values_report(self.jobs[0], self.nonces[0], execution)]
        return judge_sequence(execution, self.nonces, [case_names(job.tests) for job in self.jobs])


def _sandbox_job(jobs: Sequence[ValuesJob], nonces: Sequence[str]) -> Job:
    """The job that judges all solutions, one after the other, in one sandbox; the variables are the first one's."""
    cases = sum(len(case_names(job.tests)) for job in jobs)
    return Job(
        command=COMMAND,
        program=values_program(),
        env={**DETERMINISTIC_ENVIRONMENT, **jobs[0].env},
        stdin=b"".join(
            _job_text(job, nonce, remaining=len(jobs) - number)
            for number, (job, nonce) in enumerate(zip(jobs, nonces, strict=True), 1)
        ),
        limits=_limits_with_judge([job.limits for job in jobs], cases),
    )


def _job_text(job: ValuesJob, nonce: str, remaining: int) -> bytes:
    """One solution and its tests as `inside/sequence.py` reads them; `remaining` solutions come after it."""
    message = message_text([nonce, job.limits.wall_s, job.solution, job.entry_point])
    text = message[:-1] + b"," + render_tests(job.tests, job.context) + b"]"
    head = len(text), math.ceil(job.limits.cpu_s or 0), remaining
    return b"".join(number.to_bytes(_NUMBER_BYTES, "big") for number in head) + text


def _limits_with_judge(limits: Sequence[Limits], cases: int) -> Limits:
    """The limits of the whole job: the judge needs one process more, room for its report, and time to write it.

    Several solutions need one more process, which starts their judges in sequence and applies each one's limit of
    processor time. Their wall time together is that of two solutions: one that stops its judge must not hold up the
    others for longer.
    """
    report_kib = _REPORT_KIB * len(limits) + cases // _CASES_PER_KIB
    times = [limit.cpu_s for limit in limits]
    return replace(
        limits[0],
        wall_s=min(len(limits), 2) * max(limit.wall_s for limit in limits) + _GRACE_S,
        cpu_s=None if None in times else sum(math.ceil(time or 0) for time in times) if len(times) > 1 else times[0],
        memory_mib=max(limit.memory_mib for limit in limits),
        processes=max(limit.processes for limit in limits) + min(len(limits), 2),
        stream_kib=max(limits[0].stream_kib, report_kib),
    )


@cache
def values_program() -> Mapping[str, bytes]:
    """The files of the judge: its start, and an archive of its modules, which a warm worker imports ahead of a job."""
    folder = module_path(start).parent
    sources = {"equality": module_path(equality).read_bytes()}
    sources |= {name: (folder / f"{name}.py").read_bytes() for name in _MODULES}
    ahead = {**sources, "warm_up": (folder / "warm_up.py").read_bytes()}
    return {"judge.py": module_path(start).read_bytes(), ARCHIVE: pack_modules(sources, optimize=2, ahead=ahead)}
