"""The one place where a refresh is decided. Pure: the same refresh always gets the same answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.data import Drift, DriftReport
from flyteplugins_codegen.models.refresh import Comparison, Examination, Refresh, RefreshRules

# After these the tests that were generated speak of data of another form, and are written anew with the solution.
_OF_FORM: Final = frozenset({"column removed", "type", "format"})
_SHOWN: Final = 3


class Keep(Value):
    """Leave the solution as it is. Where it does not fit the data, that is an error."""

    reason: str
    fits: bool = True


class Refuse(Value):
    """The data break what the user said must hold: no other solution would mend them."""

    reason: str


class RepairEarlier(Value):
    """Have the solution changed where it must be, by its own tests."""

    reason: str


class Regenerate(Value):
    """Have solution and tests written anew, for data of another form."""

    reason: str


class Compare(Value):
    """Run the old and the new solution side by side."""


class AskForApproval(Value):
    """Stop for a human."""

    reason: str


class Replace(Value):
    """Let the new solution take the place of the old one."""

    reason: str


Step: TypeAlias = Keep | Refuse | RepairEarlier | Regenerate | Compare | AskForApproval | Replace


def next_step(refresh: Refresh) -> Step:
    """What to do next with a refresh as it stands."""
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
    reason = "; ".join([*_failures(examination), *_told(drifts)])
    if not reason:
        minor = any(report.drifts for report in examination.drifts)
        return Keep(reason="what drifted is tolerated, and every check passes" if minor else "nothing changed")
    if any(drift.kind in _OF_FORM for drift in drifts):
        return Regenerate(reason=reason)
    return RepairEarlier(reason=reason)


def matters_in(reports: tuple[DriftReport, ...], rules: RefreshRules) -> tuple[Drift, ...]:
    """The drifts that the user's rules do not tolerate."""
    found = (drift for report in reports for drift in report.drifts)
    return tuple(drift for drift in found if not is_tolerated(drift, rules))


def is_tolerated(drift: Drift, rules: RefreshRules) -> bool:
    """Whether the user's rules take this drift for no reason to change anything."""
    if rules.drift == "any" or (rules.drift == "minor" and drift.severity == "minor"):
        return True
    return bool({drift.kind, drift.column, f"{drift.kind} {drift.column}"} & set(rules.tolerated))


def _failures(examination: Examination) -> Iterator[str]:
    yield from (cause.summary for cause in examination.report.causes[:1])
    yield from examination.flaws[:_SHOWN]


def _told(drifts: tuple[Drift, ...]) -> list[str]:
    more = [f"{len(drifts) - _SHOWN} more drifts"] if len(drifts) > _SHOWN else []
    return [drift.text for drift in drifts[:_SHOWN]] + more


def _reason_to_ask(comparison: Comparison, rules: RefreshRules) -> str:
    """Why a human is to decide, "" where none is."""
    if rules.approval == "never":
        return ""
    if rules.approval == "always":
        return "every new solution is to be approved"
    if comparison.largest is None:
        return "; ".join(["nothing could be compared", *comparison.notes])
    beyond = [each.told for each in comparison.differences if each.difference > rules.allowed_difference]
    if not beyond:
        return ""
    allowed = f"more than the allowed {rules.allowed_difference:.4g}"
    return f"the outputs differ by {comparison.largest:.4g}, {allowed}: {'; '.join(beyond[:_SHOWN])}"
