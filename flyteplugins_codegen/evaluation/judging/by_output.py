"""Judged by what a program prints: run once for each text on stdin, what it printed compared outside of the sandbox."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.evaluation.judging.trials import Candidate, Settled, Trial, Verdict, too_long, verdict_of
from flyteplugins_codegen.evaluation.programs.printed import printed_difference
from flyteplugins_codegen.evaluation.values import JudgedBy, StdinPair, StdinTests
from flyteplugins_codegen.models.report import Cause
from flyteplugins_codegen.sandbox.contract import Execution, Job
from flyteplugins_codegen.sandbox.limit_causes import limit_cause
from flyteplugins_codegen.sandbox.python_errors import exception_cause, syntax_cause
from flyteplugins_codegen.sandbox.signal_names import signal_name
from flyteplugins_codegen.sandbox.steady import STEADY_ENVIRONMENT

KINDS: Final = (StdinTests,)


def begin(candidate: Candidate) -> Verdict | None:
    """The verdict where there is nothing to run; None where there is."""
    verdict = too_long(candidate)
    flaw = None if verdict else syntax_cause(candidate.program, "solution.py")
    return verdict_of(candidate, flaw, cpu_s=0, wall_s=0) if flaw else verdict


def trials(candidates: Sequence[Candidate]) -> Iterable[Trial]:
    """For each, the run on its first pair; the others follow one by one."""
    return [OutputTrial(candidate) for candidate in candidates]


@dataclass(frozen=True, slots=True)
class OutputTrial:
    """A program's run on one pair; `cpu_s` and `wall_s` are what those before it took."""

    candidate: Candidate
    index: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    judged_by: JudgedBy = "output"

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The one."""
        return (self.candidate,)

    @property
    def job(self) -> Job:
        """The program, with the pair's text on its stdin and nothing of what is expected."""
        return Job(
            command=("python", "/app/solution.py"),
            program={"solution.py": self.candidate.program.encode()},
            env=STEADY_ENVIRONMENT,
            stdin=self._pairs[self.index].stdin.encode(),
            limits=self.candidate.limits,
        )

    @property
    def _pairs(self) -> tuple[StdinPair, ...]:
        tests = self.candidate.problem.tests
        return tests.pairs if isinstance(tests, StdinTests) else ()

    def settle(self, execution: Execution) -> Settled:
        """The verdict once a pair fails or there is none left."""
        if execution.status == "sandbox_error":
            raise SandboxError(f"the sandbox failed while it ran the program: {execution.message}")
        cause = self._cause(execution)
        cpu_s, wall_s = self.cpu_s + execution.cpu_s, self.wall_s + execution.wall_s
        if cause is None and self.index + 1 < len(self._pairs):
            return Settled(left=(replace(self, index=self.index + 1, cpu_s=cpu_s, wall_s=wall_s),))
        verdict = verdict_of(
            self.candidate, cause, case=f"pair {self.index + 1}" if cause else "", cpu_s=cpu_s, wall_s=wall_s
        )
        return Settled(verdicts=((self.candidate, verdict),))

    def again(self, candidates: Iterable[Candidate]) -> Iterable[Trial]:
        """The same run anew."""
        return [replace(self, candidate=candidate) for candidate in candidates]

    def _cause(self, execution: Execution) -> Cause | None:
        cause = limit_cause(execution, self.candidate.limits)
        if cause is not None:
            return cause
        if execution.exit_code != 0:
            return exception_cause(execution.stderr.decode(errors="replace"), _ending(execution))
        if execution.stdout_cut:
            return Cause(kind="output_limit", message="it printed more than is kept of an output")
        tests = self.candidate.problem.tests
        tolerance = tests.tolerance if isinstance(tests, StdinTests) else 0.0
        expected = self._pairs[self.index].stdout
        told = printed_difference(execution.stdout.decode(errors="replace"), expected, tolerance)
        return Cause(kind="test_failed", message=told) if told else None


def _ending(execution: Execution) -> str:
    if execution.signal is not None:
        return f"the program was ended by {signal_name(execution.signal)}"
    return f"the program ended with exit status {execution.exit_code}"
