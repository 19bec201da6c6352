"""The values of an evaluation: problems with their tests, samples, and the result of each sample."""

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
"""How a sample ended. `infrastructure` is not a verdict: the machine failed, and the sample is not counted."""

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)

JudgedBy = Literal["values", "suite", "output"]
"""The method of judging: plain values compared in another process, a counted suite, or what a program printed."""


@dataclass(frozen=True, slots=True)
class UnittestTests:
    """`source` defines `unittest.TestCase`s; the solution's names are in their module, and in the module `solution`."""

    source: str


@dataclass(frozen=True, slots=True)
class PytestTests:
    """`source` is a pytest module that imports from `solution`."""

    source: str


@dataclass(frozen=True, slots=True)
class StdinPair:
    """What a program reads on stdin, and what it must print; white space at the ends of lines does not count."""

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

    If a test fails, it ends the program with a status other than 0, as `assert` or `process.exit(1)` do.
    """

    source: str


Tests: TypeAlias = CheckTests | AssertTests | PairTests | UnittestTests | PytestTests | StdinTests | ProgramTests


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem with its tests.

    `prompt` is what a completion continues; `canonical_solution` is a whole correct program, None if none is known.
    `context` is trusted source whose names the tests may use; None stands for the prompt if that is Python. `limits`
    are for one sample, None for those of the evaluation. Raises RequestError for a problem without an id.
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
    """One sample: a whole `solution`, or a `completion` of the problem's prompt.

    `source` and `line` say where it was read from. Raises RequestError unless it has exactly one of the two.
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
        """Its origin, for messages: file and line if known, and the problem that it is for."""
        origin = f"{self.source}:{self.line}" if self.line else self.source
        return f"{origin}: the sample for {self.task_id!r}" if origin else f"the sample for {self.task_id!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleResult:
    """How one sample ended; `index` is its position in the input.

    `reason` says why it did not pass: for a wrong answer the first case that failed, for a forgery how it was tried.
    `cpu_s` and `wall_s` are of the run that was judged; `attempts` counts runs, more than one if the machine failed.
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
        """Whether it has a verdict; it has none if the machine failed."""
        return self.outcome != "infrastructure"
