"""Fresh data looked at: profiled, compared with what the solution was made from, validated, and the solution run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from flyteplugins_codegen.data.drift import compare_profiles
from flyteplugins_codegen.data.files import describe_sample
from flyteplugins_codegen.errors import NotSuccessfulError, RequestError, SampleError
from flyteplugins_codegen.llm.budget import total_cost_usd
from flyteplugins_codegen.models.data import DataContext, DriftReport, TableSchema
from flyteplugins_codegen.models.job import Request
from flyteplugins_codegen.models.refresh import Earlier, Examination, Refresh, Renewal
from flyteplugins_codegen.models.run import Attempt, Cause, Run
from flyteplugins_codegen.models.spending import ModelCall
from flyteplugins_codegen.portable.validator import UncheckedError, UnreadableError, check_table, describe
from flyteplugins_codegen.stages.attempts import with_changed
from flyteplugins_codegen.stages.context import extract_context, infer_schemas, with_schemas
from flyteplugins_codegen.stages.drive import drive_on
from flyteplugins_codegen.stages.loop import Driven
from flyteplugins_codegen.stages.model_calls import open_account
from flyteplugins_codegen.stages.privacy import shown_profiles
from flyteplugins_codegen.stages.refresh.decide import Regenerate, RepairEarlier, matters_in
from flyteplugins_codegen.stages.test import judge_attempt
from flyteplugins_codegen.telemetry import stage


def examine(earlier: Earlier, data: Mapping[str, Path]) -> Examination:
    """What the data are like beside those that the solution was made from, and how it does on them. No model is asked.

    Raises:
        RequestError: data are missing or unknown, or the solution keeps no statistics to compare with.
        SampleError: a file is missing, empty, or not what its name says.
        SandboxError: the sandbox failed, or this machine offers none.
    """
    request = fresh_request(earlier, data)
    context = extract_context(earlier.settings, request, data)
    drifts = compare(earlier, context)
    broken, flaws, unchecked = _held_against_schemas(earlier, data)
    attempt = earlier_attempt(earlier)
    run = Run(settings=earlier.settings, request=request, schemas=earlier.schemas, attempts=(attempt,))
    report = judge_attempt(run, attempt, data)
    return Examination(
        drifts=drifts,
        broken=broken,
        flaws=flaws,
        report=report,
        notes=(*unchecked, *_not_run(earlier.request, request, data)),
    )


def fresh_request(earlier: Earlier, data: Mapping[str, Path]) -> Request:
    """The job as it was asked for, on other data. Examples that speak of the old samples are left out.

    Raises RequestError or SampleError.
    """
    _check_names(earlier, data)
    names = [name for name in earlier.request.inputs if name in data]
    samples = tuple(describe_sample(name, data[name]) for name in names)
    examples = tuple(each for each in earlier.request.examples if not set(names) - set(each.inputs))
    return earlier.request.model_copy(update={"samples": samples, "examples": examples})


def compare(earlier: Earlier, context: DataContext) -> tuple[DriftReport, ...]:
    """What drifted in each sample.

    What is kept of the old samples is masked, so the new profiles are masked with the fakes of the old job: the same
    values have the same fakes then.
    """
    shown = shown_profiles(earlier.settings, earlier.request, context.samples)
    with stage("compare profiles") as note:
        drifts = tuple(compare_profiles(old, shown[name]) for name, old in earlier.profiles.items() if name in shown)
        major = sum(drift.severity == "major" for report in drifts for drift in report.drifts)
        minor = sum(len(report.drifts) for report in drifts) - major
        note.detail = f"{major} major and {minor} minor differences"
        return drifts


def earlier_attempt(earlier: Earlier) -> Attempt:
    """The solution as the first attempt of a run that begins with it."""
    return Attempt(
        number=1,
        action="earlier_version",
        reason="the solution as it stands",
        candidate=earlier.candidate,
        environment=earlier.environment,
    )


def own_schemas(earlier: Earlier) -> dict[str, TableSchema]:
    """What the user himself said of each table: his schemas, and his constraints as far as they are understood."""
    own = dict(earlier.request.schemas)
    for constraint in earlier.constraints:
        table = own.get(constraint.table, TableSchema())
        own[constraint.table] = table.model_copy(
            update={"rules": tuple(dict.fromkeys((*table.rules, *constraint.rules)))}
        )
    return own


def _check_names(earlier: Earlier, data: Mapping[str, Path]) -> None:
    request = earlier.request
    files = [name for name, kind in request.inputs.items() if kind == "file"]
    unknown = next((name for name in data if name not in files), None)
    if unknown is not None:
        raise RequestError(f"data: the solution has no file input {unknown!r}; it has {', '.join(files) or 'none'}")
    missing = [sample.name for sample in request.samples if sample.name not in data]
    if missing:
        raise RequestError(f"data: {', '.join(missing)} is missing; pass a file for each of {', '.join(files)}")
    if not files:
        raise RequestError("the solution was made from no data, so that fresh data cannot tell anything of it")
    if not set(earlier.profiles) >= {sample.name for sample in request.samples}:
        raise NotSuccessfulError(
            "the solution keeps no statistics of the data that it was made from, as those of older versions of this "
            "package; generate it once more, then it can be refreshed"
        )


def _held_against_schemas(
    earlier: Earlier, data: Mapping[str, Path]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """What the data break of the user's own words, what of the inferred schemas, and what could not be checked."""
    if earlier.settings.validation == "off":
        return (), (), ("validation is off: the data are held against no schema",)
    unchecked: list[str] = []
    own = own_schemas(earlier)
    with stage("validate schemas") as note:
        broken = tuple(_flaws(own, data, unchecked))
        flaws = tuple(flaw for flaw in _flaws(earlier.schemas, data, unchecked) if flaw not in broken)
        note.detail = f"{len(broken) + len(flaws)} breaches"
    if earlier.settings.validation == "warn":
        return (), (), (*unchecked, *broken, *flaws)
    return broken, flaws, tuple(dict.fromkeys(unchecked))


def _flaws(schemas: Mapping[str, TableSchema], data: Mapping[str, Path], unchecked: list[str]) -> Iterator[str]:
    for name, path in data.items():
        if name not in schemas:
            continue
        try:
            yield from (describe(name, flaw) for flaw in check_table(path, schemas[name].for_validator()))
        except UncheckedError as error:
            unchecked.append(str(error))
        except UnreadableError as error:
            yield f"{name}: {error}"
        except OSError as error:
            raise SampleError(f"data {name!r}: {path} cannot be read ({error.strerror})") from error


def _not_run(old: Request, new: Request, data: Mapping[str, Path]) -> Iterator[str]:
    without_value = [name for name in new.inputs if name not in data]
    if without_value:
        yield f"the script was not run on the data: there is no value for {', '.join(without_value)}"
    left_out = len(old.examples) - len(new.examples)
    if left_out:
        yield f"{left_out} examples speak of the old samples, and judge nothing here"


# A solution renewed for fresh data: repaired from what is there, or written anew, by the loop that made it.

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
