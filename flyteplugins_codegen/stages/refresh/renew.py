"""A solution renewed for fresh data: repaired from what is there, or written anew, by the loop that made it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from flyteplugins_codegen.llm.prices import total_cost_usd
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.drift import DriftReport
from flyteplugins_codegen.models.profile import DataContext
from flyteplugins_codegen.models.refresh import Earlier, Refresh, Renewal
from flyteplugins_codegen.models.report import Cause
from flyteplugins_codegen.models.rules import TableSchema
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.stages.actions import Driven
from flyteplugins_codegen.stages.asking import open_account
from flyteplugins_codegen.stages.attempts import with_changed
from flyteplugins_codegen.stages.context import extract_context
from flyteplugins_codegen.stages.drive import drive_on
from flyteplugins_codegen.stages.privacy import shown_profiles
from flyteplugins_codegen.stages.refresh.decide import Regenerate, RepairEarlier, matters_in
from flyteplugins_codegen.stages.refresh.examine import earlier_attempt, fresh_request
from flyteplugins_codegen.stages.schemas import infer_schemas, with_schemas

_MOST_CHARS: Final = 2_000
_UNCHANGED: Final = (
    "If solution.py does on these data what the description says, give it back unchanged: no edits, and the reason in "
    "`cause`."
)


async def renew(
    earlier: Earlier, refresh: Refresh, step: RepairEarlier | Regenerate, data: Mapping[str, Path]
) -> Driven:
    """Take the solution through the loop again, within the budget of its settings.

    To the model goes what drifted, and what failed. Replies are kept by their content: a refresh that was killed, or
    comes again with the same data, pays for none twice.

    Raises CodegenError: what no candidate is to blame for; see `stages.drive.drive`.
    """
    run = _run_on(earlier, data)
    account = open_account(run)
    if isinstance(step, RepairEarlier):
        driven = await drive_on(_from_earlier(run, earlier, refresh), data, account)
        return driven.model_copy(update={"run": driven.run.model_copy(update={"settings": earlier.settings})})
    told = "\n\n".join(filter(None, [run.context.text, _drift_text(refresh.examination.drifts)]))
    context = run.context.model_copy(update={"text": told})
    schemed = await with_schemas(run.model_copy(update={"context": context}), data, account)
    return await drive_on(schemed.run, data, account, schemed.calls)


def renewal_of(earlier: Earlier, driven: Driven, code: str) -> Renewal:
    """What the run came to; `code` is that of the new solution."""
    calls: Iterable[ModelCall] = driven.run.calls
    has_new_code = code != earlier.candidate.solution.code
    made = driven.run.attempts[-1].reason if driven.run.attempts else driven.finish.reason
    return Renewal(
        is_success=driven.finish.success,
        reason=made if driven.finish.success else driven.finish.reason,
        has_new_code=has_new_code,
        model_calls=len(driven.run.calls),
        tokens=sum(call.usage.input_tokens + call.usage.output_tokens for call in calls),
        cost_usd=total_cost_usd(driven.run.calls),
    )


def _run_on(earlier: Earlier, data: Mapping[str, Path]) -> Run:
    request = fresh_request(earlier, data)
    context = extract_context(earlier.settings, request, data)
    return Run(settings=earlier.settings, request=request, context=context)


def _from_earlier(run: Run, earlier: Earlier, refresh: Refresh) -> Run:
    """The run with the solution as it stands for its first attempt, judged on the fresh data."""
    cause = _drift_cause(refresh)
    report = refresh.examination.report.model_copy(update={"drift_cause": cause})
    shown = shown_profiles(run.settings, run.request, run.context.samples)
    begun = run.model_copy(
        update={
            "schemas": _fresh_schemas(earlier, run.context),
            "constraints": earlier.constraints,
            "context": run.context.model_copy(update={"samples": shown}),
            "attempts": (earlier_attempt(earlier),),
            # Its tests were found strong enough when they were made.
            "settings": run.settings.model_copy(update={"min_test_strength": 0.0}),
        }
    )
    return with_changed(begun, 1, report=report, cause=report.causes[0])


def _fresh_schemas(earlier: Earlier, context: DataContext) -> dict[str, TableSchema]:
    """As inferred from the fresh data, with the user's own; the constraints as they were understood."""
    schemas = infer_schemas(context) | earlier.request.schemas
    for constraint in earlier.constraints:
        if constraint.rules:
            table = schemas.get(constraint.table, TableSchema())
            rules = tuple(dict.fromkeys((*table.rules, *constraint.rules)))
            schemas[constraint.table] = table.model_copy(update={"rules": rules})
    return schemas


def _drift_cause(refresh: Refresh) -> Cause | None:
    """What the data are to blame for; None where they are as they were."""
    examination = refresh.examination
    told = [_drift_text(examination.drifts), *examination.flaws]
    if not any(told):
        return None
    drifts = matters_in(examination.drifts, refresh.rules)
    subject = next((drift.column for drift in drifts if drift.column), "")
    return Cause(kind="data_drift", subject=subject, message="\n".join([*filter(None, told), _UNCHANGED]))


def _drift_text(reports: Iterable[DriftReport]) -> str:
    drifted = [report.text for report in reports if report.drifts]
    text = "\n".join(["The data have changed since the solution was made:", *drifted]) if drifted else ""
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]} [...]"
