"""Fresh data looked at: profiled, compared with what the solution was made from, validated, and the solution run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from flyteplugins_codegen.data.drift import compare_profiles
from flyteplugins_codegen.data.files import describe_sample
from flyteplugins_codegen.errors import NotSuccessfulError, RequestError, SampleError
from flyteplugins_codegen.models.drift import DriftReport
from flyteplugins_codegen.models.profile import DataContext
from flyteplugins_codegen.models.refresh import Earlier, Examination
from flyteplugins_codegen.models.request import Request
from flyteplugins_codegen.models.rules import TableSchema
from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.sandbox.validator import UncheckedError, UnreadableError, check_table, describe
from flyteplugins_codegen.stages.context import extract_context
from flyteplugins_codegen.stages.privacy import shown_profiles
from flyteplugins_codegen.stages.progress import stage
from flyteplugins_codegen.stages.test import judge_attempt


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
