"""How two profiles of the same sample differ."""

from __future__ import annotations

from typing import Literal

from flyteplugins_codegen.models.base import Value

DriftKind = Literal[
    "column added",
    "column removed",
    "order of columns",
    "type",
    "nulls",
    "range",
    "categories",
    "distribution",
    "row count",
    "format",
]
Severity = Literal["minor", "major"]


class Drift(Value):
    """One difference. `major` is what is likely to break a solution or to change what it finds out.

    `old` and `new` are what the two profiles say; `psi` is the population stability index, for a distribution.
    """

    kind: DriftKind
    column: str = ""
    severity: Severity
    old: str = ""
    new: str = ""
    psi: float | None = None

    @property
    def text(self) -> str:
        """One line: what, where, from what to what."""
        where = f" {self.column!r}" if self.column else ""
        change = f": {self.old} -> {self.new}" if self.old and self.new else f": {self.old or self.new}"
        index = f" (PSI {self.psi:.2f})" if self.psi is not None else ""
        return f"{self.kind}{where}{change if self.old or self.new else ''}{index}"


class DriftReport(Value):
    """All differences, the major ones first."""

    sample: str
    drifts: tuple[Drift, ...] = ()

    @property
    def has_drifted(self) -> bool:
        """Whether anything major changed."""
        return any(drift.severity == "major" for drift in self.drifts)

    @property
    def text(self) -> str:
        """A line for each difference, below one that sums them up."""
        major = sum(drift.severity == "major" for drift in self.drifts)
        lines = [f"- {drift.severity}: {drift.text}" for drift in self.drifts]
        return "\n".join([f"{self.sample}: {major} major and {len(self.drifts) - major} minor differences", *lines])

    def __str__(self) -> str:
        return self.text
