"""The actions of the generation loop: what can be done next with a run."""

from __future__ import annotations

from typing import TypeAlias

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.run import Blame, DroppedTest, Run
from flyteplugins_codegen.models.spending import ModelCall


class FirstDraft(Value):
    """Ask for `count` independent solutions and, at the same time, for tests."""

    count: int = 1


class Redraft(Value):
    """Ask for `count` new independent solutions, with a summary of what failed so far.

    With `is_third`, without it: a third computation that decides between two.
    """

    count: int
    reason: str
    is_third: bool = False


class BuildEnvironment(Value):
    """Resolve and install what the first pending candidate needs."""


class RunTests(Value):
    """Run the first pending candidate."""


class JudgeSideBySide(Value):
    """Build and run all pending candidates."""


class AddPackages(Value):
    """Try the same code with more packages. The cause is certain, so no model is asked."""

    packages: tuple[str, ...]
    reason: str


class AddSystemPackages(Value):
    """Add the Debian packages that the same code needs. The cause is certain, so no model is asked."""

    packages: tuple[str, ...]
    reason: str


class DropTests(Value):
    """Judge the same code without generated tests, or a reference, that are certainly wrong or cannot be satisfied.

    `attempt` is the number of the attempt with that code; None for the base attempt.
    """

    tests: tuple[DroppedTest, ...]
    attempt: int | None = None


class MeasureStrength(Value):
    """Count how many mutants of the candidate fail its tests."""


class StrengthenTests(Value):
    """Ask once for tests that fail for the surviving mutants, and judge the same code by these tests too."""

    survivors: tuple[str, ...]
    reason: str


class Repair(Value):
    """Ask the model once for the cause and the change. `blame` says where to look, `blame_reason` why."""

    reason: str
    blame: Blame | None = None
    blame_reason: str = ""


class WorkAsAgent(Value):
    """Let the model work with tools until it submits a candidate, instead of drafts and repairs."""

    reason: str


class Finish(Value):
    """Stop here; `reason` says why."""

    success: bool
    reason: str


Action: TypeAlias = (
    FirstDraft
    | Redraft
    | BuildEnvironment
    | RunTests
    | JudgeSideBySide
    | AddPackages
    | AddSystemPackages
    | DropTests
    | MeasureStrength
    | StrengthenTests
    | Repair
    | WorkAsAgent
    | Finish
)


class Driven(Value):
    """A finished run, how it finished, and every call with its messages."""

    run: Run
    finish: Finish
    calls: tuple[ModelCall, ...]
