"""Candidates, the sandboxed jobs that test them (trials), and the verdicts that these give."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from flyteplugins_codegen.evaluation.values import JudgedBy, Outcome, Problem
from flyteplugins_codegen.models.run import Cause, CauseKind
from flyteplugins_codegen.sandbox.contract import Execution, Job, Limits
from flyteplugins_codegen.text import LONGEST_SOURCE_CHARS, failure_text

MOST_REASON_CHARS: Final = 500
MOST_ATTEMPTS: Final = 3  # when the machine fails; a candidate that has a verdict is not run again

_OUTCOMES: Final[dict[CauseKind, Outcome]] = {
    "syntax_error": "syntax_error",
    "missing_entry_point": "missing_entry_point",
    "exception": "exception",
    "missing_module": "exception",
    "timed_out": "timed_out",
    "out_of_memory": "out_of_memory",
    "output_limit": "output_limit",
    "untrusted_report": "forged",
}
_NO_SPACE: Final = (f"[Errno {errno.EFBIG}]", f"[Errno {errno.ENOSPC}]")
_NO_MEMORY: Final = re.compile(r"(?:^|\b(?:raised|failed:) )MemoryError\b", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateProgram:
    """A whole program to judge on a problem. `key` is its digest for journals.

    `expected_s` is the processor time of a correct program; `attempts` includes the current one.
    """

    key: bytes
    problem: Problem
    program: str
    judged_by: JudgedBy
    limits: Limits
    expected_s: float = 0.0
    attempts: int = 1

    def again(self) -> CandidateProgram:
        """The same candidate for its next attempt."""
        return replace(self, attempts=self.attempts + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a candidate ended, and why it did not pass."""

    outcome: Outcome
    judged_by: JudgedBy
    reason: str = ""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Settled:
    """The verdicts that one execution gave, and the trials that remain."""

    verdicts: tuple[tuple[CandidateProgram, Verdict], ...] = ()
    remaining: tuple[Trial, ...] = ()


class Trial(Protocol):
    """One sandboxed job that tests one candidate or more."""

    @property
    def candidates(self) -> tuple[CandidateProgram, ...]:
        """The candidates that it tests."""

    @property
    def judged_by(self) -> JudgedBy:
        """The method of judging, which decides the sandbox that it needs."""

    @property
    def job(self) -> Job:
        """The job to run."""

    def settle(self, execution: Execution) -> Settled:
        """Read the verdicts out of the job's execution. Raises SandboxError if the machine failed."""

    def again(self, candidates: Iterable[CandidateProgram]) -> Iterable[Trial]:
        """New trials for these of its candidates."""


def verdict_of(
    candidate: CandidateProgram, cause: Cause | None, *, case: str = "", cpu_s: float, wall_s: float
) -> Verdict:
    """The verdict for the cause in a report, "passed" for None; `case` names the first case that failed."""
    return Verdict(
        outcome=_outcome(cause) if cause else "passed",
        judged_by=candidate.judged_by,
        reason=render_reason(case, cause.message) if cause else "",
        cpu_s=round(cpu_s, 6),
        wall_s=round(wall_s, 6),
        attempts=candidate.attempts,
    )


def _outcome(cause: Cause) -> Outcome:
    if cause.kind == "exception":  # a program that meets a limit of the sandbox may see an exception
        if any(error in cause.message for error in _NO_SPACE):
            return "output_limit"
        if _NO_MEMORY.search(cause.message):
            return "out_of_memory"
    return _OUTCOMES.get(cause.kind, "wrong_answer")


def render_reason(case: str, message: str) -> str:
    """Why a candidate did not pass, shortened; the name of the case comes first."""
    reason = f"{case}: {message}" if case and not message.startswith(case) else message
    return failure_text(reason, MOST_REASON_CHARS)


def too_long(candidate: CandidateProgram) -> Verdict | None:
    """The verdict on a program that is too long to run; None for others."""
    size = len(candidate.program)
    if size <= LONGEST_SOURCE_CHARS:
        return None
    reason = f"the program has {size:,} characters; more than {LONGEST_SOURCE_CHARS:,} are not run"
    return Verdict(outcome="syntax_error", judged_by=candidate.judged_by, reason=reason)


def machine_failed(candidate: CandidateProgram, message: str) -> Verdict:
    """The verdict on a candidate for which the machine failed at every attempt."""
    return Verdict(
        outcome="infrastructure",
        judged_by=candidate.judged_by,
        reason=render_reason("", message),
        attempts=candidate.attempts,
    )
