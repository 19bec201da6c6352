"""A saved solution on fresh data: examined there, and renewed if that is decided.

Examining profiles the data, compares them with the data that the solution was made from, checks them against the
schemas, and runs the solution on them. Renewing repairs or regenerates the solution, by the loop that made it.
"""

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
from flyteplugins_codegen.models.run import Attempt, Cause, Run, TestReport
from flyteplugins_codegen.portable.validator import UncheckedError, UnreadableError, check_table, describe
from flyteplugins_codegen.stages.actions import Driven
from flyteplugins_codegen.stages.arguments import inputs_without_sample, ran_on_samples
from flyteplugins_codegen.stages.attempts import with_changed
from flyteplugins_codegen.stages.context import extract_context, infer_schemas, with_rules, with_schemas
from flyteplugins_codegen.stages.drive import drive_on
from flyteplugins_codegen.stages.model_calls import open_account
from flyteplugins_codegen.stages.privacy import shown_profiles
from flyteplugins_codegen.stages.refresh.decide import Regenerate, RepairEarlier, matters_in
from flyteplugins_codegen.stages.test import judge_attempt
from flyteplugins_codegen.telemetry import stage

_MOST_CHARS: Final = 2_000
_UNCHANGED: Final = (
    "If solution.py does on these data what the description says, give it back unchanged: no edits, and the reason in "
    "`cause`."
)


def examine(earlier: Earlier, data: Mapping[str, Path]) -> Examination:
    """Compare fresh data with those that the solution was made from, and run it on them. No model is asked.

    Raises:
        RequestError: data are missing or unknown.
        NotSuccessfulError: the solution has no statistics to compare with.
        SampleError: a file is missing, empty, or not in the format that its name says.
        SandboxError: the sandbox failed, or this machine has none.
    """
    request = fresh_request(earlier, data)
    context = extract_context(earlier.settings, request, data)
    drifts = _compare(earlier, context)
    broken, flaws, unchecked = _validate(earlier, data)
    attempt = _earlier_attempt(earlier)
    run = Run(settings=earlier.settings, request=request, schemas=earlier.schemas, attempts=(attempt,))
    report = judge_attempt(run, attempt, data)
    return Examination(
        drifts=drifts,
        broken=broken,
        flaws=flaws,
        report=report,
        notes=(*unchecked, *_not_run(earlier.request, request, report)),
    )


def fresh_request(earlier: Earlier, data: Mapping[str, Path]) -> Request:
    """The request of the solution, on other data. Examples that use the old samples are left out.

    Raises RequestError, NotSuccessfulError or SampleError.
    """
    _check_names(earlier, data)
    names = [name for name in earlier.request.inputs if name in data]
    samples = tuple(describe_sample(name, data[name]) for name in names)
    examples = tuple(example for example in earlier.request.examples if not set(names) - set(example.inputs))
    return earlier.request.model_copy(update={"samples": samples, "examples": examples})


def _compare(earlier: Earlier, context: DataContext) -> tuple[DriftReport, ...]:
    """The drift of each sample.

    The stored profiles are masked, so the new profiles are masked with the fake values of the old job: equal values
    have equal fakes.
    """
    shown = shown_profiles(earlier.settings, earlier.request, context.samples)
    with stage("compare profiles") as note:
        drifts = tuple(compare_profiles(old, shown[name]) for name, old in earlier.profiles.items() if name in shown)
        major = sum(drift.severity == "major" for report in drifts for drift in report.drifts)
        minor = sum(len(report.drifts) for report in drifts) - major
        note.detail = f"{major} major and {minor} minor differences"
        return drifts


def _earlier_attempt(earlier: Earlier) -> Attempt:
    """The saved solution as the first attempt of a run."""
    return Attempt(
        number=1,
        action="earlier_version",
        reason="the solution as it stands",
        candidate=earlier.candidate,
        environment=earlier.environment,
    )


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


def _validate(earlier: Earlier, data: Mapping[str, Path]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The breaches of the user's own schemas and constraints, those of inferred schemas, and what was not checked."""
    if earlier.settings.validation == "off":
        return (), (), ("validation is off: the data are held against no schema",)
    unchecked: list[str] = []
    own = with_rules(earlier.request.schemas, earlier.constraints)
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


def _not_run(old: Request, new: Request, report: TestReport) -> Iterator[str]:
    without_value = [name for name in inputs_without_sample(new) if name not in new.values]
    if without_value and not ran_on_samples(new, report):
        yield f"the script was not run on the data: there is no value for {', '.join(without_value)}"
    left_out = len(old.examples) - len(new.examples)
    if left_out:
        yield f"{left_out} examples speak of the old samples, and judge nothing here"


# --- renewal ---


async def renew(
    earlier: Earlier, refresh: Refresh, step: RepairEarlier | Regenerate, data: Mapping[str, Path]
) -> Driven:
    """Drive the solution through the loop again, within the budget of its settings.

    The model is shown what drifted and what failed. Replies are cached by content: a refresh that was killed, or is
    repeated with the same data, pays for no reply twice.

    Raises CodegenError: a failure that is not the fault of a candidate; see `stages.drive.drive`.
    """
    request = fresh_request(earlier, data)
    context = extract_context(earlier.settings, request, data)
    run = Run(settings=earlier.settings, request=request, context=context)
    account = open_account(run)
    if isinstance(step, RepairEarlier):
        driven = await drive_on(_with_earlier(run, earlier, refresh), data, account)
        return driven.model_copy(update={"run": driven.run.model_copy(update={"settings": earlier.settings})})
    text = "\n\n".join(filter(None, [context.text, _drift_text(refresh.examination.drifts)]))
    context = context.model_copy(update={"text": text})
    result = await with_schemas(run.model_copy(update={"context": context}), data, account)
    return await drive_on(result.run, data, account, result.calls)


def renewal_of(earlier: Earlier, driven: Driven, code: str) -> Renewal:
    """The result of the driven run; `code` is the code of the new solution."""
    run, finish = driven.run, driven.finish
    return Renewal(
        is_success=finish.success,
        reason=run.attempts[-1].reason if finish.success and run.attempts else finish.reason,
        has_new_code=code != earlier.candidate.solution.code,
        model_calls=len(run.calls),
        tokens=sum(call.usage.input_tokens + call.usage.output_tokens for call in run.calls),
        cost_usd=total_cost_usd(run.calls),
    )


def _with_earlier(run: Run, earlier: Earlier, refresh: Refresh) -> Run:
    """The run with the saved solution as its first attempt, judged on the fresh data."""
    cause = _drift_cause(refresh)
    report = refresh.examination.report.model_copy(update={"drift_cause": cause})
    shown = shown_profiles(run.settings, run.request, run.context.samples)
    started = run.model_copy(
        update={
            "schemas": with_rules(infer_schemas(run.context) | earlier.request.schemas, earlier.constraints),
            "constraints": earlier.constraints,
            "context": run.context.model_copy(update={"samples": shown}),
            "attempts": (_earlier_attempt(earlier),),
            # The strength of its tests was measured when they were made.
            "settings": run.settings.model_copy(update={"min_test_strength": 0.0}),
        }
    )
    return with_changed(started, 1, report=report, cause=report.causes[0])


def _drift_cause(refresh: Refresh) -> Cause | None:
    """The drift and the breaches as a cause; None if there are none."""
    examination = refresh.examination
    texts = [_drift_text(examination.drifts), *examination.flaws]
    if not any(texts):
        return None
    drifts = matters_in(examination.drifts, refresh.rules)
    subject = next((drift.column for drift in drifts if drift.column), "")
    return Cause(kind="data_drift", subject=subject, message="\n".join([*filter(None, texts), _UNCHANGED]))


def _drift_text(reports: Iterable[DriftReport]) -> str:
    drifted = [report.text for report in reports if report.drifts]
    text = "\n".join(["The data have changed since the solution was made:", *drifted]) if drifted else ""
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]} [...]"
