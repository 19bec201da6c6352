"""What is evaluated and what becomes of it: problems with their tests, samples, and the end of each sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.judging.values.tests import AssertTests, CheckTests, Pair, PairTests
from flyteplugins_codegen.sandbox.contract import Limits

__all__ = [
    "OUTCOMES",
    "AssertTests",
    "CheckTests",
    "JudgedBy",
    "Outcome",
    "Pair",
    "PairTests",
    "Problem",
    "ProgramTests",
    "PytestTests",
    "Sample",
    "SampleResult",
    "StdinPair",
    "StdinTests",
    "Tests",
    "UnittestTests",
]

Outcome = Literal[
    "passed",
    "wrong_answer",
    "exception",
    "timed_out",
    "out_of_memory",
    "output_limit",
    "syntax_error",
    "missing_entry_point",
    "forged",
    "infrastructure",
]
"""How a sample ended. `infrastructure` is no verdict: the machine failed, and the sample is not counted."""

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)

JudgedBy = Literal["values", "suite", "output"]
"""By plain values compared in another process, by a counted suite, or by what a program printed."""


@dataclass(frozen=True, slots=True)
class UnittestTests:
    """`source` defines `unittest.TestCase`s that find the solution's names as `solution`'s, or as their own."""

    source: str


@dataclass(frozen=True, slots=True)
class PytestTests:
    """`source` is a pytest module that imports from `solution`."""

    source: str


@dataclass(frozen=True, slots=True)
class StdinPair:
    """What a program reads on stdin, and what it is to print; white space at the ends of lines does not count."""

    stdin: str
    stdout: str


@dataclass(frozen=True, slots=True)
class StdinTests:
    """A whole program is run for each pair; printed numbers may differ by `tolerance`."""

    pairs: tuple[StdinPair, ...]
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True)
class ProgramTests:
    """Tests in another language than Python: `source` follows the solution in one program.

    It ends the program with another status than 0 where a test fails, as `assert` or `process.exit(1)` do.
    """

    source: str


Tests: TypeAlias = CheckTests | AssertTests | PairTests | UnittestTests | PytestTests | StdinTests | ProgramTests


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem.

    `prompt` is what a completion continues, `canonical_solution` a whole program that is right, None where none is
    known. `context` is trusted source whose names the tests may use (by default the prompt, where that is Python).
    `limits` bounds one sample, None for the evaluation's own. Raises RequestError for a problem without an id.
    """

    task_id: str
    tests: Tests
    entry_point: str = ""
    prompt: str = ""
    canonical_solution: str | None = None
    category: str = ""
    language: str = "python"
    context: str | None = None
    limits: Limits | None = None

    def __post_init__(self) -> None:
        if not self.task_id:
            raise RequestError("a problem has no task_id; give each problem a name of its own")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One candidate: a whole `solution`, or a `completion` of the problem's prompt.

    `source` and `line` say where it was read from. Raises RequestError where both or neither is given.
    """

    task_id: str
    solution: str | None = None
    completion: str | None = None
    sample_id: str = ""
    source: str = ""
    line: int = 0

    def __post_init__(self) -> None:
        if (self.solution is None) == (self.completion is None):
            given = "neither a solution nor a completion" if self.solution is None else "a solution and a completion"
            raise RequestError(f"{self.place} has {given}; give one of the two")

    @property
    def place(self) -> str:
        """Where it comes from, for messages: file and line, else the problem that it is for."""
        where = f"{self.source}:{self.line}" if self.line else self.source
        return f"{where}: the sample for {self.task_id!r}" if where else f"the sample for {self.task_id!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleResult:
    """The end of one sample, the `index`th that was given.

    `reason` says why it did not pass: of a wrong answer the first case that failed, of a forgery how it tried.
    `cpu_s` and `wall_s` are of the run that was judged; `attempts` counts runs, more than one after the machine failed.
    """

    task_id: str
    index: int
    outcome: Outcome
    reason: str = ""
    judged_by: JudgedBy = "values"
    cpu_s: float = 0.0
    wall_s: float = 0.0
    attempts: int = 1
    sample_id: str = ""

    @property
    def passed(self) -> bool:
        """Whether it passed every test."""
        return self.outcome == "passed"

    @property
    def is_counted(self) -> bool:
        """Whether it has a verdict: the machine failed for those that have none."""
        return self.outcome != "infrastructure"
