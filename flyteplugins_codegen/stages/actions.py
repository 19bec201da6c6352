"""What can be done next with a run: the answers of `stages.loop.next_action`, which every driver carries out."""

from __future__ import annotations

from typing import TypeAlias

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.run import Blame, DroppedTest, Run


class FirstDraft(Value):
    """Ask for `count` solutions, none seeing another, and, side by side, for tests."""

    count: int = 1


class FreshDrafts(Value):
    """Ask for `count` solutions anew, none seeing another, with what was learnt from those that failed."""

    count: int
    reason: str


class BuildEnvironment(Value):
    """Resolve what the first candidate that is not judged yet needs."""


class RunTests(Value):
    """Run the first candidate that is not judged yet."""


class JudgeSideBySide(Value):
    """Build and run all candidates that are not judged yet."""


class AddPackages(Value):
    """Try the same code with more packages: the cause is certain, no model is asked."""

    packages: tuple[str, ...]
    reason: str


class AddSystemPackages(Value):
    """Name the Debian packages that the same code needs: the cause is certain, no model is asked."""

    packages: tuple[str, ...]
    reason: str


class DropTests(Value):
    """Judge the same code without generated tests that are certainly wrong, or that nothing could settle.

    `attempt` is the number of the one whose code that is; by default the one that the run goes on from.
    """

    tests: tuple[DroppedTest, ...]
    attempt: int | None = None


class MeasureStrength(Value):
    """Find out how many mutants of the candidate its tests tell from it."""


class StrengthenTests(Value):
    """Ask once for tests that fail for the mutants that survived, and judge the same code by these too."""

    survivors: tuple[str, ...]
    reason: str


class Repair(Value):
    """Ask the model once for the cause and the change; `blame` tells it where to look, `blame_reason` why there."""

    reason: str
    blame: Blame | None = None
    blame_reason: str = ""


class WorkAsAgent(Value):
    """Let the model work by tools until it submits a candidate, in place of drafts and repairs."""

    reason: str


class Finish(Value):
    """Stop here; `reason` says what decided."""

    success: bool
    reason: str


class Driven(Value):
    """A run that came to its end, how, and every call with its messages."""

    run: Run
    finish: Finish
    calls: tuple[ModelCall, ...]


Action: TypeAlias = (
    FirstDraft
    | FreshDrafts
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
