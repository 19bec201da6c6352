"""A candidate on its way to a verdict: one sandboxed job, or several, and what each of them settles."""

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
MOST_ATTEMPTS: Final = 3  # of a machine; a verdict is never asked for twice

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
_NO_ROOM: Final = (f"[Errno {errno.EFBIG}]", f"[Errno {errno.ENOSPC}]")
_NO_MEMORY: Final = re.compile(r"(?:^|\b(?:raised|failed:) )MemoryError\b", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A whole program that is to be judged on a problem, by its `key`; `attempts` counts the present one.

    `expected_s` is the processor time that a right program took.
    """

    key: bytes
    problem: Problem
    program: str
    judged_by: JudgedBy
    limits: Limits
    expected_s: float = 0.0
    attempts: int = 1

    def again(self) -> Candidate:
        """The same, to be tried once more."""
        return replace(self, attempts=self.attempts + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a candidate."""

    outcome: Outcome
    judged_by: JudgedBy
    reason: str = ""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Settled:
    """What one execution settled, and the trials that are still to be run."""

    verdicts: tuple[tuple[Candidate, Verdict], ...] = ()
    left: tuple[Trial, ...] = ()


class Trial(Protocol):
    """One sandboxed job, for one candidate or more."""

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Those that wait for it."""

    @property
    def judged_by(self) -> JudgedBy:
        """Which sandbox it needs."""

    @property
    def job(self) -> Job:
        """What to run."""

    def settle(self, execution: Execution) -> Settled:
        """Draw the verdicts. Raises SandboxError where the machine is to blame."""

    def again(self, candidates: Iterable[Candidate]) -> Iterable[Trial]:
        """The same for these candidates of it, anew."""


def verdict_of(candidate: Candidate, cause: Cause | None, *, case: str = "", cpu_s: float, wall_s: float) -> Verdict:
    """The verdict that a report's cause gives; `case` is the first that failed."""
    return Verdict(
        outcome=_outcome(cause) if cause else "passed",
        judged_by=candidate.judged_by,
        reason=render_reason(case, cause.message) if cause else "",
        cpu_s=round(cpu_s, 6),
        wall_s=round(wall_s, 6),
        attempts=candidate.attempts,
    )


def _outcome(cause: Cause) -> Outcome:
    if cause.kind == "exception":  # the limits of a sandbox reach a program as exceptions too
        if any(error in cause.message for error in _NO_ROOM):
            return "output_limit"
        if _NO_MEMORY.search(cause.message):
            return "out_of_memory"
    return _OUTCOMES.get(cause.kind, "wrong_answer")


def render_reason(case: str, message: str) -> str:
    """Why a candidate did not pass, the name of the case first."""
    told = f"{case}: {message}" if case and not message.startswith(case) else message
    return failure_text(told, MOST_REASON_CHARS)


def too_long(candidate: Candidate) -> Verdict | None:
    """The verdict on a program of a length that nobody writes; None for others."""
    size = len(candidate.program)
    if size <= LONGEST_SOURCE_CHARS:
        return None
    told = f"the program has {size:,} characters; more than {LONGEST_SOURCE_CHARS:,} are not run"
    return Verdict(outcome="syntax_error", judged_by=candidate.judged_by, reason=told)


def machine_failed(candidate: Candidate, message: str) -> Verdict:
    """The verdict on a candidate that the machine failed each time."""
    return Verdict(
        outcome="infrastructure",
        judged_by=candidate.judged_by,
        reason=render_reason("", message),
        attempts=candidate.attempts,
    )
