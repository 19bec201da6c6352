"""A run as it stands: everything that the loop decides by, and nothing else."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.data import AppliedConstraint, DataContext, TableSchema
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import Candidate, Request
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import Message, ModelCall, ToolResult

# Where an agent stands between two of its turns.

SOLUTION_FILE = "solution.py"
TESTS_FILE = "test_solution.py"


class AgentSession(Value):
    """The conversation as it goes on, the files, and what they need installed: values, nothing on any disk.

    `pending` are the results of the turn that submitted a candidate; that of `submit` is empty until it is judged.
    `tested` is the last candidate of which the agent saw everything pass. `silent_turns` in a row called no tool.
    `has_declined`: its last reply was a refusal, after which nothing is asked any more.
    """

    messages: tuple[Message, ...] = ()
    pending: tuple[ToolResult, ...] = ()
    files: dict[str, str] = Field(default_factory=dict)
    packages: tuple[str, ...] = ()
    tested: Candidate | None = None
    turns: int = 0
    silent_turns: int = 0
    has_declined: bool = False


# How candidates stand to each other: who does the same, and an input on which they differ.


class Group(Value):
    """Attempts, by number, that left the same outputs and passed the same generated tests.

    `passed` and `failed` are the names of these tests. `score` is higher the more candidates agree and the more tests
    they pass (see `stages.candidates.grouping`).
    """

    attempts: tuple[int, ...]
    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    score: float

    @property
    def passes_all(self) -> bool:
        """Whether no generated test speaks against it."""
        return not self.failed


class Answer(Value):
    """What some of the candidates make of an input, shortened to be read."""

    attempts: tuple[int, ...]
    text: str


class Disagreement(Value):
    """An input on which candidates differ that pass everything the user gave, and what each group makes of it.

    `case` is `samples`, `example 1`, or the name of a generated test; `input` says what the input is.
    """

    case: str
    input: str
    answers: tuple[Answer, ...]

    def __str__(self) -> str:
        """Where they differ, and a line for each answer."""
        lines = [f"  {_told_attempts(answer.attempts)}: {answer.text}" for answer in self.answers]
        return "\n".join([f"candidates differ on {self.case} ({self.input}):", *lines])


def _told_attempts(numbers: tuple[int, ...]) -> str:
    return f"attempt{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


# What happened when a candidate ran: facts first, then the verdict drawn from them.

Outcome = Literal["passed", "failed", "error", "skipped", "missing"]
SuiteOrigin = Literal["user", "generated"]
JudgedBy = Literal["values", "suite"]
"""How a verdict was reached: by plain values compared outside of the judged process, or by what a suite reported."""
SAMPLES_CASE = "samples"
CauseKind = Literal[
    "syntax_error",
    "missing_module",
    "package_unavailable",
    "missing_output",
    "invalid_output",
    "wrong_output",
    "missing_entry_point",
    "exception",
    "timed_out",
    "out_of_memory",
    "output_limit",
    "test_failed",
    "broken_tests",
    "nothing_ran",
    "untrusted_report",
    "not_by_values",
    "data_drift",
]


class Cause(Value):
    """Why a candidate failed. `subject` names the module, package, output, example or test that it is about.

    `not_by_values` says of the check, not of the candidate, that it needs more than plain data: judge it by a suite.
    """

    kind: CauseKind
    subject: str = ""
    message: str
    is_certain: bool = False

    @property
    def summary(self) -> str:
        """The cause in one line: of a traceback the last, which says what was raised, else the first."""
        lines = self.message.strip().splitlines() or [""]
        line = lines[-1 if _TRACEBACK in lines else 0].strip()[:200]
        # Most messages name what they are about themselves.
        about = f" ({self.subject})" if self.subject and self.subject not in line else ""
        return f"{self.kind.replace('_', ' ')}{about}: {line}"


_TRACEBACK = "Traceback (most recent call last):"


class ScriptRun(Value):
    """One run of the script: on the samples (`case=SAMPLES_CASE`) or on an example (`case="example 1"`).

    `variables` are those of its functions when it ended by an exception, a line for each function.
    """

    case: str
    judged_by: JudgedBy = "values"
    status: str
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    variables: str = ""
    outputs: dict[str, JsonValue] = Field(default_factory=dict)
    cause: Cause | None = None
    wall_s: float = 0.0
    isolation: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it ended well with every output there, of its type, and as expected."""
        return self.cause is None


class TestOutcome(Value):
    """One test. `message` is the assertion or exception, `traceback` its lines in the solution and the test.

    `variables` are those of the solution's functions when it failed, a line for each function.
    """

    __test__ = False

    name: str
    outcome: Outcome
    message: str = ""
    traceback: str = ""
    variables: str = ""
    duration_s: float = 0.0


class SuiteReport(Value):
    """One pytest run. `expected` are the tests that the source declares; what did not report is `missing`."""

    origin: SuiteOrigin
    judged_by: JudgedBy = "suite"
    expected: tuple[str, ...] = ()
    tests: tuple[TestOutcome, ...] = ()
    exit_code: int | None = None
    output: str = ""
    cause: Cause | None = None
    wall_s: float = 0.0
    isolation: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every expected test ran and passed, and the exit status agrees."""
        return self.cause is None


class ValuesReport(Value):
    """One judgement by values: a case for each assert, pair or `check`, in order; one that never ran is `missing`.

    `output` is what the solution and the checks printed.
    """

    judged_by: JudgedBy = "values"
    cases: tuple[TestOutcome, ...] = ()
    output: str = ""
    cause: Cause | None = None
    wall_s: float = 0.0
    cpu_s: float = 0.0
    isolation: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every case ran and passed, the candidate having been asked."""
        return self.cause is None


class TestReport(Value):
    """Everything that ran for one candidate.

    `drift_cause` says that the data have changed since it was made: whatever passes, it is to be looked at again.
    """

    __test__ = False

    runs: tuple[ScriptRun, ...] = ()
    suites: tuple[SuiteReport, ...] = ()
    build_cause: Cause | None = None
    drift_cause: Cause | None = None

    @property
    def isolation(self) -> tuple[str, ...]:
        """What kept the code from the host in every single run; `("none",)` where nothing did, empty if none ran."""
        ran: list[ScriptRun | SuiteReport] = [*self.runs, *self.suites]
        held = [run.isolation for run in ran if run.isolation]
        common = set(held[0]).intersection(*held) if held else set()
        return tuple(layer for layer in held[0] if layer in common) if held else ()

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Every cause of failure, in order of authority: examples, the user's tests, the samples, generated tests."""
        found = [self.build_cause]
        found += [run.cause for run in self.runs if run.case != SAMPLES_CASE]
        found += [suite.cause for suite in self.suites if suite.origin == "user"]
        found += [run.cause for run in self.runs if run.case == SAMPLES_CASE]
        found += [suite.cause for suite in self.suites if suite.origin == "generated"]
        found.append(self.drift_cause)
        return tuple(cause for cause in found if cause is not None)

    @property
    def passed(self) -> bool:
        """Whether something ran and nothing failed."""
        return bool(self.runs or self.suites) and not self.causes


# How well tests tell a right solution from one that is slightly wrong.


class TestStrength(Value):
    """What became of the mutants of a solution that passed its tests.

    `share` is `killed / total`, 0 for tests that assert nothing, and None where nothing could be measured. `total` are
    the mutants that were tried, of `made`. A mutant that ran out of time is killed too. `survivors` says of each that
    no test failed for what it is, as `line 12, total: ...`.
    """

    __test__ = False

    share: float | None = Field(default=None, ge=0, le=1)
    killed: int = 0
    total: int = 0
    made: int = 0
    survivors: tuple[str, ...] = ()
    wall_s: float = 0.0


ActionName = Literal[
    "earlier_version",
    "first_draft",
    "fresh_draft",
    "add_packages",
    "add_system_packages",
    "drop_tests",
    "strengthen_tests",
    "repair",
    "agent",
]
Blame = Literal["solution", "tests", "environment"]


class Attempt(Value):
    """One candidate, how it came about, and what happened when it ran.

    `action` made the candidate and `reason` says why; `cause` is what failed it, None for one that passed. `parent` is
    the number of the attempt that it was made from, None for a draft of its own. Attempts of one `round_number` were
    made at once. `blame` is what a repair took to be wrong, and `blame_reason` says why it was told to look there.
    `unusable` says why no reply could be used: then all else is as it was with the `parent`, and nothing ran again.
    `strength` is that of the tests which it passed, None where it was not measured.
    """

    number: int
    action: ActionName
    reason: str
    candidate: Candidate
    parent: int | None = None
    round_number: int = 1
    blame: Blame | None = None
    blame_reason: str = ""
    unusable: str = ""
    environment: EnvironmentLock | None = None
    report: TestReport | None = None
    cause: Cause | None = None
    strength: TestStrength | None = None


class DroppedTest(Value):
    """A generated test that judges no more. `attempt` is the number of the attempt whose failure showed it wrong."""

    name: str
    reason: str
    attempt: int


class Run(Value):
    """The state that goes round the loop. Small by design: messages of the calls travel beside it.

    `schemas` are those of the samples, and of the outputs that a constraint speaks of, by name. `stopped` says why no
    model is asked any more, "" while one may be. `session` is where an agent stands, by `backend="agent"`.
    """

    model_config = ConfigDict(protected_namespaces=())

    settings: Settings
    request: Request
    context: DataContext = DataContext()
    schemas: dict[str, TableSchema] = Field(default_factory=dict)
    constraints: tuple[AppliedConstraint, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    dropped_tests: tuple[DroppedTest, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    stopped: str = ""
    session: AgentSession | None = None
