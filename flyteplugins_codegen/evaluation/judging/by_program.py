"""Judged by a program in another language: by what it prints, or by its own tests, run to their end with status 0."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.judging.trials import Candidate, Settled, Trial, Verdict, too_long, verdict_of
from flyteplugins_codegen.evaluation.programs.running import ProgramRun, program_end, program_job
from flyteplugins_codegen.evaluation.values import JudgedBy, ProgramTests, StdinTests
from flyteplugins_codegen.sandbox.contract import Execution, Job

KINDS: Final = (ProgramTests, StdinTests)


def begin(candidate: Candidate) -> Verdict | None:
    """The verdict where there is nothing to run; None where there is."""
    return too_long(candidate)


def trials(candidates: Sequence[Candidate]) -> Iterable[Trial]:
    """A trial for each."""
    return [ProgramTrial(candidate) for candidate in candidates]


@dataclass(frozen=True, slots=True)
class ProgramTrial:
    """A program, built once and run on everything; `word` is what it prints once its tests have come to their end."""

    candidate: Candidate
    word: str = field(default_factory=lambda: secrets.token_hex(16))
    judged_by: JudgedBy = "output"

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The one."""
        return (self.candidate,)

    @property
    def job(self) -> Job:
        """The building and the runs."""
        return program_job(self._run)

    @property
    def _run(self) -> ProgramRun:
        problem = self.candidate.problem
        if not isinstance(problem.tests, ProgramTests | StdinTests):
            raise RequestError(f"problem {problem.task_id!r} is of {problem.language}; give StdinTests or ProgramTests")
        return ProgramRun(
            language=problem.language,
            program=self.candidate.program,
            tests=problem.tests,
            limits=self.candidate.limits,
            word=self.word,
        )

    def settle(self, execution: Execution) -> Settled:
        """The verdict. Raises SandboxError where the machine is to blame, which may lack the language."""
        end = program_end(self._run, execution)
        case = f"pair {end.case}" if end.case and isinstance(self.candidate.problem.tests, StdinTests) else ""
        verdict = verdict_of(
            self.candidate, end.cause, case=case if end.cause else "", cpu_s=end.cpu_s, wall_s=end.wall_s
        )
        return Settled(verdicts=((self.candidate, verdict),))

    def again(self, candidates: Iterable[Candidate]) -> Iterable[Trial]:
        """The same anew."""
        return trials(tuple(candidates))
