"""The state of a run: what happened to each candidate, how candidates compare, and everything the loop decides by."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import ConfigDict, Field, JsonValue

from flyteplugins_codegen.models.base import Extended, Value
from flyteplugins_codegen.models.data import AppliedConstraint, DataContext, TableSchema
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import Candidate, Request
from flyteplugins_codegen.models.reference import REFERENCE_FILE, ReferenceReport
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import Message, ModelCall, ToolResult
from flyteplugins_codegen.text import short_repr

Outcome = Literal["passed", "failed", "error", "skipped", "missing"]
SuiteOrigin = Literal["user", "generated"]
JudgedBy = Literal["values", "suite"]
"""How a verdict was reached: by comparing plain values outside of the candidate's process, or by a suite's report."""
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
    "reference_differs",
]
ActionName = Literal[
    "earlier_version",
    "first_draft",
    "fresh_draft",
    "independent_draft",
    "add_packages",
    "add_system_packages",
    "drop_tests",
    "strengthen_tests",
    "repair",
    "agent",
]
Blame = Literal["solution", "tests", "environment", "reference"]
SOLUTION_FILE = "solution.py"
TESTS_FILE = "test_solution.py"
SAMPLES_CASE = "samples"
_TRACEBACK = "Traceback (most recent call last):"


# --- what happened when a candidate ran -------------------------------------------------------------------------------


class Cause(Value):
    """Why a candidate failed. `subject` is the name of the module, package, output, example or test concerned.

    `not_by_values` is about the check, not the candidate: it needs more than plain data and must be run as a suite.
    """

    kind: CauseKind
    subject: str = ""
    message: str
    is_certain: bool = False

    @property
    def summary(self) -> str:
        """The cause on one line: the last line of a traceback, which names the exception, or else the first line."""
        lines = self.message.strip().splitlines() or [""]
        line = lines[-1 if _TRACEBACK in lines else 0].strip()[:200]
        # Most messages contain the subject.
        about = f" ({self.subject})" if self.subject and self.subject not in line else ""
        return f"{self.kind.replace('_', ' ')}{about}: {line}"


class ScriptRun(Extended):
    """One run of the script: on the samples (`case=SAMPLES_CASE`) or on an example (`case="example 1"`).

    `variables` are the local variables of its functions when it raised an exception, a line for each function.
    `arguments` are the values of inputs without a sample, in the run on the samples.
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
    arguments: dict[str, JsonValue] = Field(default_factory=dict)

    later_fields: ClassVar[frozenset[str]] = frozenset({"arguments"})

    @property
    def arguments_text(self) -> str:
        """The arguments as ` with top = 5, region = 'North'`; "" for a run without them."""
        pairs = ", ".join(f"{name} = {short_repr(value)}" for name, value in self.arguments.items())
        return f" with {pairs}" if pairs else ""

    @property
    def passed(self) -> bool:
        """Whether it ended without error and every output exists, has its type and is as expected."""
        return self.cause is None


class TestOutcome(Value):
    """One test. `message` is the assertion or exception, `traceback` its lines in the solution and the test.

    `variables` are the local variables of the solution's functions when it failed, a line for each function.
    """

    __test__ = False

    name: str
    outcome: Outcome
    message: str = ""
    traceback: str = ""
    variables: str = ""
    duration_s: float = 0.0


class SuiteReport(Value):
    """One pytest run. `expected` are the tests that the source declares; those without a report are `missing`."""

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
    """One judgement by values: a case for each assert, pair or `check`, in order; those that never ran are `missing`.

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
        """Whether every case ran and passed, and the candidate was really called."""
        return self.cause is None


class TestReport(Extended):
    """Everything that ran for one candidate.

    `drift_cause` says that the data have changed since the candidate was made: it needs a review even if it passes.
    `reference` compares the candidate with a second computation; None if there is none.
    """

    __test__ = False

    runs: tuple[ScriptRun, ...] = ()
    suites: tuple[SuiteReport, ...] = ()
    build_cause: Cause | None = None
    drift_cause: Cause | None = None
    reference: ReferenceReport | None = None

    later_fields: ClassVar[frozenset[str]] = frozenset({"reference"})

    @property
    def isolation(self) -> tuple[str, ...]:
        """The layers of isolation that every run had; `("none",)` if there were none, empty if nothing ran."""
        reports: list[ScriptRun | SuiteReport] = [*self.runs, *self.suites]
        layers = [report.isolation for report in reports if report.isolation]
        common = set(layers[0]).intersection(*layers) if layers else set()
        return tuple(layer for layer in layers[0] if layer in common) if layers else ()

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Every cause of failure, in order of authority.

        First examples, the user's tests and the samples, then the generated tests and the reference.
        """
        causes = [self.build_cause]
        causes += [run.cause for run in self.runs if run.case != SAMPLES_CASE]
        causes += [suite.cause for suite in self.suites if suite.origin == "user"]
        causes += [run.cause for run in self.runs if run.case == SAMPLES_CASE]
        causes += [suite.cause for suite in self.suites if suite.origin == "generated"]
        causes += [self.reference_cause, self.drift_cause]
        return tuple(cause for cause in causes if cause is not None)

    @property
    def reference_cause(self) -> Cause | None:
        """The cause if the reference differs."""
        difference = self.reference and self.reference.difference
        if not difference:
            return None
        return Cause(kind="reference_differs", subject=REFERENCE_FILE, message=difference.summary)

    @property
    def passed(self) -> bool:
        """Whether something ran and nothing failed."""
        return bool(self.runs or self.suites) and not self.causes


class TestStrength(Extended):
    """How many mutants of a solution its tests detect: how well they tell it from slightly wrong versions.

    `share` is `killed / total`, 0 for tests that assert nothing, None if nothing could be measured. Of `made` mutants,
    `total` were tried. A mutant that runs out of time counts as killed. `survivors` describes each mutant that no test
    detected, as `line 12, total: ...`. `diffs` has the changed lines of each survivor, in the same order,
    old lines after `-` and new ones after `+`; it is empty where an earlier version measured. `reason` says why the
    share is 0 whatever the mutants say: no test asserts a value of some output.
    """

    __test__ = False

    share: float | None = Field(default=None, ge=0, le=1)
    killed: int = 0
    total: int = 0
    made: int = 0
    survivors: tuple[str, ...] = ()
    wall_s: float = 0.0
    reason: str = ""
    diffs: tuple[str, ...] = ()

    later_fields: ClassVar[frozenset[str]] = frozenset({"reason", "diffs"})


# --- how candidates compare -------------------------------------------------------------------------------------------


class Group(Value):
    """Attempts, by number, with the same outputs and the same results of the generated tests.

    `passed` and `failed` are the names of these tests. `score` grows with the number of candidates that agree and of
    tests that they pass (see `stages.candidates.grouping`).
    """

    attempts: tuple[int, ...]
    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    score: float

    @property
    def passes_all(self) -> bool:
        """Whether no generated test failed."""
        return not self.failed


class Answer(Value):
    """The output of some of the candidates for an input, as shortened text; of the reference, if of no attempt."""

    attempts: tuple[int, ...]
    text: str


class Disagreement(Value):
    """An input for which candidates that pass everything the user gave have different outputs.

    `case` is `samples`, `example 1`, or the name of a generated test; `input` describes the input.
    """

    case: str
    input: str
    answers: tuple[Answer, ...]

    def __str__(self) -> str:
        """The case, and a line for each answer."""
        lines = []
        for answer in self.answers:
            plural = "s" if len(answer.attempts) > 1 else ""
            whose = f"attempt{plural} {', '.join(map(str, answer.attempts))}" if answer.attempts else REFERENCE_FILE
            lines.append(f"  {whose}: {answer.text}")
        return "\n".join([f"candidates differ on {self.case} ({self.input}):", *lines])


# --- attempts and the run ---------------------------------------------------------------------------------------------


class AgentSession(Value):
    """The state of an agent between two turns: the conversation, its files as text, and the packages that they need.

    `pending` are the tool results of the turn that submitted a candidate; that of `submit` is empty until the candidate
    is judged. `tested` is the last candidate that passed everything the agent ran. `silent_turns` is the number of
    turns in a row without a tool call. `has_declined`: the last reply was a refusal, and the agent is not asked again.
    """

    messages: tuple[Message, ...] = ()
    pending: tuple[ToolResult, ...] = ()
    files: dict[str, str] = Field(default_factory=dict)
    packages: tuple[str, ...] = ()
    tested: Candidate | None = None
    turns: int = 0
    silent_turns: int = 0
    has_declined: bool = False


class Attempt(Value):
    """One candidate, how it was made, and what happened when it ran.

    `action` made the candidate and `reason` says why; `cause` is why it failed, None if it passed. `parent` is the
    number of the attempt that it was made from, None for a new draft. Attempts with one `round_number` were made at the
    same time. `blame` is what the repair assumed to be wrong, `blame_reason` why it was asked to look there. `unusable`
    says why no reply could be used; then all else is copied from the `parent`, and nothing ran. `strength` is that of
    the tests it passed, None if it was not measured.
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
    """A generated test that is no longer used, or the reference, by its file name.

    `attempt` is the attempt whose failure showed that it is wrong.
    """

    name: str
    reason: str
    attempt: int


class Run(Value):
    """The state that the loop passes on. Small by design: messages of the calls are kept outside of it.

    `schemas` are those of the samples, and of outputs with constraints, by name. `stopped` says why no model is asked
    any more, "" as long as one may be. `session` is the state of the agent with `backend="agent"`.
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
