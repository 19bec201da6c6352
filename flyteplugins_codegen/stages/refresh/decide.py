"""The decisions of a refresh. Pure: the same refresh always gets the same answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.data import Drift, DriftReport
from flyteplugins_codegen.models.refresh import Comparison, Examination, Refresh, RefreshRules

# After drifts of these kinds, generated tests do not fit the data, and are regenerated with the solution.
_CHANGES_OF_FORM: Final = frozenset({"column removed", "type", "format"})
_MOST_REASONS: Final = 3


class Keep(Value):
    """Keep the solution. If it does not fit the data, that is an error."""

    reason: str
    fits: bool = True


class Refuse(Value):
    """Refuse the data: they break the user's own constraints, which no other solution can change."""

    reason: str


class RepairEarlier(Value):
    """Repair the solution; it is judged by its own tests."""

    reason: str


class Regenerate(Value):
    """Generate solution and tests again, for data of another form."""

    reason: str


class Compare(Value):
    """Run the old and the new solution side by side."""


class AskForApproval(Value):
    """Wait for the approval of a person."""

    reason: str


class Replace(Value):
    """Replace the old solution by the new one."""

    reason: str


Step: TypeAlias = Keep | Refuse | RepairEarlier | Regenerate | Compare | AskForApproval | Replace


def next_step(refresh: Refresh) -> Step:
    """What to do next with a refresh."""
    if refresh.renewal is None:
        return _after_examination(refresh.examination, refresh.rules)
    if not refresh.renewal.is_success:
        fits = not refresh.examination.report.causes
        return Keep(reason=f"no better solution was found: {refresh.renewal.reason}", fits=fits)
    if refresh.comparison is None:
        return Compare()
    if refresh.is_approved is None and (reason := _reason_to_ask(refresh.comparison, refresh.rules)):
        return AskForApproval(reason=reason)
    if refresh.is_approved is False:
        return Keep(reason="the new solution was not approved", fits=not refresh.examination.report.causes)
    return Replace(reason=refresh.renewal.reason)


def _after_examination(examination: Examination, rules: RefreshRules) -> Step:
    if examination.broken:
        return Refuse(reason="; ".join(examination.broken))
    drifts = matters_in(examination.drifts, rules)
    reason = "; ".join([*_failures(examination), *_drift_texts(drifts)])
    if not reason:
        minor = any(report.drifts for report in examination.drifts)
        return Keep(reason="what drifted is tolerated, and every check passes" if minor else "nothing changed")
    if any(drift.kind in _CHANGES_OF_FORM for drift in drifts):
        return Regenerate(reason=reason)
    return RepairEarlier(reason=reason)


def matters_in(reports: tuple[DriftReport, ...], rules: RefreshRules) -> tuple[Drift, ...]:
    """The drifts that the user's rules do not tolerate."""
    drifts = (drift for report in reports for drift in report.drifts)
    return tuple(drift for drift in drifts if not is_tolerated(drift, rules))


def is_tolerated(drift: Drift, rules: RefreshRules) -> bool:
    """Whether the user's rules tolerate this drift, so that it is no reason to change anything."""
    if rules.drift == "any" or (rules.drift == "minor" and drift.severity == "minor"):
        return True
    return bool({drift.kind, drift.column, f"{drift.kind} {drift.column}"} & set(rules.tolerated))


def _failures(examination: Examination) -> Iterator[str]:
    yield from (cause.summary for cause in examination.report.causes[:1])
    yield from examination.flaws[:_MOST_REASONS]


def _drift_texts(drifts: tuple[Drift, ...]) -> list[str]:
    more = [f"{len(drifts) - _MOST_REASONS} more drifts"] if len(drifts) > _MOST_REASONS else []
    return [drift.text for drift in drifts[:_MOST_REASONS]] + more


def _reason_to_ask(comparison: Comparison, rules: RefreshRules) -> str:
    """Why a person has to approve the new solution; "" if nobody has to."""
    if rules.approval == "never":
        return ""
    if rules.approval == "always":
        return "every new solution is to be approved"
    if comparison.largest is None:
        return "; ".join(["nothing could be compared", *comparison.notes])
    beyond = [entry.told for entry in comparison.differences if entry.difference > rules.allowed_difference]
    if not beyond:
        return ""
    allowed = f"more than the allowed {rules.allowed_difference:.4g}"
    return f"the outputs differ by {comparison.largest:.4g}, {allowed}: {'; '.join(beyond[:_MOST_REASONS])}"
