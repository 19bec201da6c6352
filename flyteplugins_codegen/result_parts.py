"""What a result holds, by subject, and how each part is read from a finished run.

`CodeGenEvalResult` inherits these values: their fields in this order are its constructor's keywords and its JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from flytekit.types.file import FlyteFile
from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapSerializer,
    WrapValidator,
)

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.data import AppliedConstraint, MaskingReport, SampleProfile, TableSchema
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import CodePlan, CodeSolution, Request, type_name
from flyteplugins_codegen.models.run import Attempt, Disagreement, DroppedTest, Run, TestReport
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import ModelCall
from flyteplugins_codegen.solution.flytekit import runs_locally

if TYPE_CHECKING:
    from flyteplugins_codegen.stages.actions import Driven


# --- types of fields ---


def as_types(declared: Mapping[str, Any]) -> dict[str, type]:
    """Declared types by name as Python and Flyte types. Raises ValueError for one that is not possible."""
    from flyteplugins_codegen.solution.task import PYTHON_TYPES

    names = {name: type_name(kind) for name, kind in declared.items()}
    unknown = [name for name, kind in names.items() if kind is None]
    if unknown:
        raise ValueError(f"{unknown[0]!r}: {declared[unknown[0]]!r} is no type of an input or output")
    return {name: PYTHON_TYPES[kind] for name, kind in names.items() if kind is not None}


def as_type_names(declared: Mapping[str, type]) -> dict[str, str]:
    """The names of declared types, as JSON and a solution's bundle hold them."""
    return {name: type_name(kind) or kind.__name__ for name, kind in declared.items()}


DeclaredTypes = Annotated[
    dict[str, Any],
    BeforeValidator(as_types),
    PlainSerializer(as_type_names),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "string"}}),
]
"""Types in Python, names of types in JSON: `result.declared_outputs["total"] is float`."""


def _serialize_sample(file: FlyteFile, serialize: SerializerFunctionWrapHandler) -> Any:
    """A sample on this machine as its path; flytekit's serializer would copy the file each time."""
    if runs_locally() and file.remote_source is None and "://" not in str(file.path):
        return {"path": str(Path(file.path).absolute())}
    return serialize(file)


def _validate_sample(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """A local path is accepted even where the file is gone: that is checked when the file is used."""
    path = value.get("path") if isinstance(value, Mapping) else None
    if isinstance(path, str) and "://" not in path and not Path(path).exists():
        return FlyteFile(path)
    return validate(value)


SampleFile = Annotated[FlyteFile, WrapSerializer(_serialize_sample), WrapValidator(_validate_sample)]


# --- the parts ---


class WrittenSolution(Value):
    """What the model wrote: of a successful run the chosen candidate, else the best one."""

    plan: CodePlan | None = None
    solution: CodeSolution
    tests: str | None = None


class RunOutcome(Value):
    """How the run ended, and the messages of its model calls."""

    success: bool
    output: str = ""
    exit_code: int = 0
    error: str | None = None
    attempts: int = 1
    conversation_history: list[dict[str, str]] = Field(default_factory=list)


class SolutionPackages(Value):
    """What the solution needs to run: distributions, Debian packages, and the image that holds both."""

    detected_packages: list[str] = Field(default_factory=list)
    detected_system_packages: list[str] = Field(default_factory=list)
    image: str | None = None


class CallTotals(Value):
    """Tokens of all model calls, and what they cost; None where a price is unknown."""

    total_input_tokens: int = 0
    total_output_tokens: int = 0
    total_cached_tokens: int = 0
    total_reasoning_tokens: int = 0
    cost_usd: float | None = None


class SolutionData(Value):
    """The solution's interface, and what its files must look like."""

    declared_inputs: DeclaredTypes = Field(default_factory=dict)
    declared_outputs: DeclaredTypes = Field(default_factory=dict)
    data_context: str | None = None
    original_samples: dict[str, SampleFile] = Field(default_factory=dict)
    generated_schemas: dict[str, str] = Field(default_factory=dict)
    schemas: dict[str, TableSchema] = Field(default_factory=dict)
    constraints: tuple[AppliedConstraint, ...] = ()
    masked: dict[str, MaskingReport] = Field(default_factory=dict)


class JobRecord(Value):
    """The job, the statistics of its samples, and the settings of the run."""

    prompt: str = ""
    request: Request
    profiles: dict[str, SampleProfile] = Field(default_factory=dict)
    settings: Settings


class RunHistory(Value):
    """The environment, how the solution was judged, and every attempt and model call."""

    environment: EnvironmentLock | None = None
    report: TestReport | None = None
    attempt_history: tuple[Attempt, ...] = ()
    dropped_tests: tuple[DroppedTest, ...] = ()
    confidence: float | None = None
    disagreement: Disagreement | None = None
    test_strength: float | None = None
    surviving_mutants: tuple[str, ...] = ()
    calls: tuple[ModelCall, ...] = ()


# --- reading them from a run ---


def read_parts(driven: Driven, samples: Mapping[str, str | FlyteFile]) -> tuple[Value, ...]:
    """All parts of a finished run's result; `samples` are paths or files by name."""
    from flyteplugins_codegen.stages.candidates.explain import final_attempt

    run = driven.run
    best = final_attempt(run)
    return (
        _written_solution(best),
        _outcome(driven, best),
        _packages(run, best),
        _call_totals(run.calls),
        _data(run, samples),
        JobRecord(prompt=run.request.prompt, request=run.request, profiles=run.context.samples, settings=run.settings),
        _history(run, best),
    )


def _written_solution(best: Attempt | None) -> WrittenSolution:
    if best is None:
        return WrittenSolution(solution=CodeSolution(code=""))
    candidate = best.candidate
    return WrittenSolution(plan=candidate.plan, solution=candidate.solution, tests=candidate.tests)


def _outcome(driven: Driven, best: Attempt | None) -> RunOutcome:
    from flyteplugins_codegen.stages.lineage import describe_outcome, exit_code_of

    report = best.report if best else None
    return RunOutcome(
        success=driven.finish.success,
        output=describe_outcome(report),
        exit_code=exit_code_of(report),
        error=None if driven.finish.success else driven.finish.reason,
        attempts=len(driven.run.attempts),
        conversation_history=[
            {"purpose": call.purpose, "role": message.role, "content": message.text}
            for call in driven.calls
            for message in call.messages
        ],
    )


def _packages(run: Run, best: Attempt | None) -> SolutionPackages:
    """Those of the best attempt; of one whose environment was never built, the last environment of the run."""
    from flyteplugins_codegen.solution.folder import image_of

    solution = best.candidate.solution if best else CodeSolution(code="")
    others = (attempt.environment for attempt in reversed(run.attempts) if attempt.environment)
    built = (best.environment if best else None) or next(others, None)
    return SolutionPackages(
        detected_packages=list(built.packages) if built else [],
        detected_system_packages=list(solution.system_packages),
        image=image_of(run.settings, built, solution.code, run.schemas) if built else None,
    )


def _call_totals(calls: tuple[ModelCall, ...]) -> CallTotals:
    from flyteplugins_codegen.llm.budget import total_cost_usd

    return CallTotals(
        total_input_tokens=sum(call.usage.input_tokens for call in calls),
        total_output_tokens=sum(call.usage.output_tokens for call in calls),
        total_cached_tokens=sum(call.usage.cached_tokens for call in calls),
        total_reasoning_tokens=sum(call.usage.reasoning_tokens for call in calls),
        cost_usd=total_cost_usd(calls),
    )


def _data(run: Run, samples: Mapping[str, str | FlyteFile]) -> SolutionData:
    from flyteplugins_codegen.data.pandera import render_schema

    files = {name: FlyteFile(file) if isinstance(file, str) else file for name, file in samples.items()}
    return SolutionData(
        declared_inputs=run.request.inputs,
        declared_outputs=run.request.outputs,
        data_context=run.context.text or None,
        original_samples=files,
        generated_schemas={name: render_schema(table) for name, table in run.schemas.items()},
        schemas=run.schemas,
        constraints=run.constraints,
        masked=run.context.masking,
    )


def _history(run: Run, best: Attempt | None) -> RunHistory:
    from flyteplugins_codegen.stages.candidates.confidence import confidence_in
    from flyteplugins_codegen.stages.candidates.explain import last_disagreement

    strength = best.strength if best else None
    return RunHistory(
        environment=best.environment if best else None,
        report=best.report if best else None,
        attempt_history=run.attempts,
        dropped_tests=run.dropped_tests,
        confidence=confidence_in(run, best) if best else None,
        disagreement=last_disagreement(run),
        test_strength=strength.share if strength else None,
        surviving_mutants=strength.survivors if strength else (),
        calls=run.calls,
    )
