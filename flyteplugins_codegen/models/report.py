"""What happened when a candidate ran: facts first, then the verdict drawn from them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from flyteplugins_codegen.models.base import Value

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
    def told(self) -> str:
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
