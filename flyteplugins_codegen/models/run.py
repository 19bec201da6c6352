"""A run as it stands: everything that the loop decides by, and nothing else."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from flyteplugins_codegen.models.agent import AgentSession
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.candidate import Candidate
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.profile import DataContext
from flyteplugins_codegen.models.report import Cause, TestReport
from flyteplugins_codegen.models.request import Request
from flyteplugins_codegen.models.rules import AppliedConstraint, TableSchema
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.strength import TestStrength

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
