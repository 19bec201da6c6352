"""A refresh: a solution checked against new data, and replaced if it no longer fits them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.data import AppliedConstraint, DriftReport, SampleProfile, TableSchema
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import Candidate, Request
from flyteplugins_codegen.models.run import TestReport
from flyteplugins_codegen.models.settings import Settings

ToleratedDrift = Literal["none", "minor", "any"]
Approval = Literal["never", "when outputs differ", "always"]
Decision = Literal["kept", "replaced"]


class RefreshRules(Value):
    """What the user allows.

    `drift` is the drift that is tolerated: with `minor` a major one is a reason to change the solution, with `any` only
    a failure is. `tolerated` are drifts to ignore, each a kind (`range`), a column, or both (`range temp_max`).
    `allowed_difference` is how much outputs of the old and the new solution may differ, from 0 to 1.
    """

    drift: ToleratedDrift = "minor"
    tolerated: tuple[str, ...] = ()
    allowed_difference: float = Field(default=0.0, ge=0, le=1)
    approval: Approval = "when outputs differ"


class Earlier(Value):
    """The existing solution: the code, its environment, and what it was generated from."""

    candidate: Candidate
    environment: EnvironmentLock
    request: Request
    settings: Settings
    profiles: dict[str, SampleProfile]
    schemas: dict[str, TableSchema] = Field(default_factory=dict)
    constraints: tuple[AppliedConstraint, ...] = ()


class Examination(Value):
    """The drift of the new data, and the solution's results on them.

    `broken` are violations of the user's own schemas and constraints, `flaws` those of inferred schemas. `notes` say
    what could not be examined.
    """

    drifts: tuple[DriftReport, ...] = ()
    broken: tuple[str, ...] = ()
    flaws: tuple[str, ...] = ()
    report: TestReport
    notes: tuple[str, ...] = ()


class Renewal(Value):
    """The outcome of asking a model for a new version. `has_new_code` is False if the old code proved right."""

    is_success: bool
    reason: str
    has_new_code: bool = True
    model_calls: int = 0
    tokens: int = 0
    cost_usd: float | None = None


class OutputDifference(Value):
    """How much one output of the old and the new solution differs on the same data, from 0 (equal) to 1."""

    data: str
    output: str
    difference: float
    told: str


class Comparison(Value):
    """The outputs of the old and the new solution compared. `notes` say what could not be compared, and why."""

    differences: tuple[OutputDifference, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def largest(self) -> float | None:
        """The largest difference, None if nothing could be compared."""
        return max((output.difference for output in self.differences), default=None)


class Refresh(Value):
    """The state of a refresh. `is_approved` is a human's decision, None if nobody has been asked."""

    rules: RefreshRules
    examination: Examination
    renewal: Renewal | None = None
    comparison: Comparison | None = None
    is_approved: bool | None = None


class RefreshOutcome(Value):
    """The result of a refresh: the solution that is valid now, by its id or folder, and why."""

    decision: Decision
    reason: str
    solution: str
    launch_plan: str | None = None
    model_calls: int = 0
    tokens: int = 0
