"""A refresh as it stands: a solution held against fresh data, and what came of it."""

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

    `drift` is the drift that is no reason to change anything: by `minor` a major one is, by `any` only a failure.
    `tolerated` are drifts that never matter, each a kind (`range`), a column, or both (`range temp_max`).
    `allowed_difference` is the share by which outputs of the old and the new solution may differ, 0 to 1.
    """

    drift: ToleratedDrift = "minor"
    tolerated: tuple[str, ...] = ()
    allowed_difference: float = Field(default=0.0, ge=0, le=1)
    approval: Approval = "when outputs differ"


class Earlier(Value):
    """A solution as it was made: the code, its environment, and what it was made from."""

    candidate: Candidate
    environment: EnvironmentLock
    request: Request
    settings: Settings
    profiles: dict[str, SampleProfile]
    schemas: dict[str, TableSchema] = Field(default_factory=dict)
    constraints: tuple[AppliedConstraint, ...] = ()


class Examination(Value):
    """What fresh data are like, and how the solution does on them.

    `broken` is what the data break of the user's own schemas and constraints, `flaws` what of the inferred schemas.
    `notes` say what could not be looked at.
    """

    drifts: tuple[DriftReport, ...] = ()
    broken: tuple[str, ...] = ()
    flaws: tuple[str, ...] = ()
    report: TestReport
    notes: tuple[str, ...] = ()


class Renewal(Value):
    """What asking a model came to. `has_new_code` is False where the old code was found right as it is."""

    is_success: bool
    reason: str
    has_new_code: bool = True
    model_calls: int = 0
    tokens: int = 0
    cost_usd: float | None = None


class OutputDifference(Value):
    """How far one output of the old and the new solution differ on the same data, from 0, the same, to 1."""

    data: str
    output: str
    difference: float
    told: str


class Comparison(Value):
    """Old and new solution side by side. `notes` say what could not be compared, and why."""

    differences: tuple[OutputDifference, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def largest(self) -> float | None:
        """The largest difference, None where nothing could be compared."""
        return max((each.difference for each in self.differences), default=None)


class Refresh(Value):
    """A refresh as far as it has come. `is_approved` is a human's word, None while none was asked."""

    rules: RefreshRules
    examination: Examination
    renewal: Renewal | None = None
    comparison: Comparison | None = None
    is_approved: bool | None = None


class RefreshOutcome(Value):
    """What a refresh came to: the solution that stands now, by its id or folder, and why."""

    decision: Decision
    reason: str
    solution: str
    launch_plan: str | None = None
    model_calls: int = 0
    tokens: int = 0
