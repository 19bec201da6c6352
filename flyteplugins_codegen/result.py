"""What a run gives back: the solution, how it was judged, and the ways to run it.

Imported by whoever names its type: what only a method needs is imported by that.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile
from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapSerializer,
    WrapValidator,
)

from flyteplugins_codegen.errors import InterfaceError, NotSuccessfulError
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.data import (
    AppliedConstraint,
    DataContext,
    MaskingReport,
    SampleProfile,
    TableSchema,
    ValidateMode,
)
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import CodePlan, CodeSolution, Request, SolutionBundle, type_name
from flyteplugins_codegen.models.run import Attempt, Disagreement, DroppedTest, Run, TestReport
from flyteplugins_codegen.models.settings import BuiltImage, CacheMode, ImageConfig, Settings
from flyteplugins_codegen.models.spending import ModelCall
from flyteplugins_codegen.solution.flytekit import runs_locally
from flyteplugins_codegen.sync import BothWays, in_daemon_thread

if TYPE_CHECKING:
    from flytekit.remote import FlyteRemote

    from flyteplugins_codegen.solution.execute import ExecutionOptions
    from flyteplugins_codegen.solution.registration.launch_plans import LaunchPlanSettings
    from flyteplugins_codegen.solution.registration.record import Provenance, RegisteredSolution
    from flyteplugins_codegen.solution.task import SandboxTask
    from flyteplugins_codegen.stages.loop import Driven


def _as_types(declared: Mapping[str, Any]) -> dict[str, type]:
    from flyteplugins_codegen.solution.task import PYTHON_TYPES

    names = {name: type_name(kind) for name, kind in declared.items()}
    unknown = [name for name, kind in names.items() if kind is None]
    if unknown:
        raise ValueError(f"{unknown[0]!r}: {declared[unknown[0]]!r} is no type of an input or output")
    return {name: PYTHON_TYPES[kind] for name, kind in names.items() if kind is not None}


def _as_names(declared: Mapping[str, type]) -> dict[str, str]:
    return {name: type_name(kind) or kind.__name__ for name, kind in declared.items()}


DeclaredTypes = Annotated[
    dict[str, Any],
    BeforeValidator(_as_types),
    PlainSerializer(_as_names),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "string"}}),
]
"""Types by name on the wire, real types to the caller: `result.declared_outputs["total"] is float`."""


def _sample_on_the_wire(file: FlyteFile, upload: SerializerFunctionWrapHandler) -> Any:
    """On this machine a sample stays where it is; flytekit's own way would copy it at every serialization."""
    if runs_locally() and file.remote_source is None and "://" not in str(file.path):
        return {"path": str(Path(file.path).absolute())}
    return upload(file)


def _sample_from_the_wire(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """A local path as it is: whether the file is still there is asked when it is needed, not on loading."""
    path = value.get("path") if isinstance(value, Mapping) else None
    if isinstance(path, str) and "://" not in path and not Path(path).exists():
        return FlyteFile(path)
    return validate(value)


SampleFile = Annotated[FlyteFile, WrapSerializer(_sample_on_the_wire), WrapValidator(_sample_from_the_wire)]


_NEXT = ".run(), .as_task(), .save(folder), .build_image(), .register()"

# Of a registered solution whoever may look at a task reads everything: this is all that is needed to run it, and to
# generate it anew when the data change.
_REGISTRABLE = {
    *("plan", "solution", "tests", "success", "detected_packages", "detected_system_packages", "image", "environment"),
    *("declared_inputs", "declared_outputs", "schemas", "generated_schemas", "constraints"),
    *("prompt", "request", "profiles", "settings"),
}


class CodeGenEvalResult(Value):
    """The outcome of `AutoCoderAgent.generate()`. Crosses Flyte task boundaries; JSON keeps everything.

    `success` means: every example and test of the user's passed, the script ran on the samples and left every
    declared output of its type, and the generated tests all passed; and where candidates that do all this differ, that
    most of them agree. Of a run that failed, `solution` is the candidate that came farthest. `confidence` is how likely
    one more independent check would agree with the solution, None where nothing can be said; 1.0 would be certainty,
    and is never reached (`stages.candidates.confidence`). `disagreement` is an input on which candidates differed.
    `test_strength` is the share of wrong versions of the solution, each with one small mistake, for which a test fails,
    None where that was not measured; `surviving_mutants` says which mistakes pass all tests.
    `cost_usd` is what this run paid for its calls, None where a price is unknown.
    `attempt_history` holds every candidate with what happened to it, `dropped_tests` the generated tests that judge no
    more and why. `calls` accounts for every model call,
    `conversation_history` has every message of every call.
    `schemas` are what files are held against when it runs, `generated_schemas` the same as Pandera source.
    `request` is the whole job; `profiles` are the samples' statistics, masked as for a model.
    `constraints` says what each of them comes to, `masked` what of each sample was replaced before a model saw it.
    """

    model_config = ConfigDict(ignored_types=(BothWays,), protected_namespaces=())

    plan: CodePlan | None = None
    solution: CodeSolution
    tests: str | None = None
    success: bool
    output: str = ""
    exit_code: int = 0
    error: str | None = None
    attempts: int = 1
    conversation_history: list[dict[str, str]] = Field(default_factory=list)
    detected_packages: list[str] = Field(default_factory=list)
    detected_system_packages: list[str] = Field(default_factory=list)
    image: str | None = None
    total_input_tokens: int = 0
    total_output_tokens: int = 0
    total_cached_tokens: int = 0
    total_reasoning_tokens: int = 0
    cost_usd: float | None = None
    declared_inputs: DeclaredTypes = Field(default_factory=dict)
    declared_outputs: DeclaredTypes = Field(default_factory=dict)
    data_context: str | None = None
    original_samples: dict[str, SampleFile] = Field(default_factory=dict)
    generated_schemas: dict[str, str] = Field(default_factory=dict)
    schemas: dict[str, TableSchema] = Field(default_factory=dict)
    constraints: tuple[AppliedConstraint, ...] = ()
    masked: dict[str, MaskingReport] = Field(default_factory=dict)
    prompt: str = ""
    request: Request
    profiles: dict[str, SampleProfile] = Field(default_factory=dict)
    settings: Settings
    environment: EnvironmentLock | None = None
    report: TestReport | None = None
    attempt_history: tuple[Attempt, ...] = ()
    dropped_tests: tuple[DroppedTest, ...] = ()
    confidence: float | None = None
    disagreement: Disagreement | None = None
    test_strength: float | None = None
    surviving_mutants: tuple[str, ...] = ()
    calls: tuple[ModelCall, ...] = ()

    @classmethod
    def from_run(cls, driven: Driven, samples: Mapping[str, str | FlyteFile]) -> CodeGenEvalResult:
        """The result of a run that came to its end; `samples` are paths or files, kept as defaults."""
        from flyteplugins_codegen.data.pandera import render_schema
        from flyteplugins_codegen.llm.budget import total_cost_usd
        from flyteplugins_codegen.solution.folder import image_of
        from flyteplugins_codegen.stages.candidates.explain import confidence_in, final_attempt, last_disagreement
        from flyteplugins_codegen.stages.lineage import describe_outcome, exit_code_of

        run = driven.run
        best = final_attempt(run)
        candidate = best.candidate if best else None
        solution = candidate.solution if candidate else CodeSolution(code="")
        report = best.report if best else None
        strength = best.strength if best else None
        others = (attempt.environment for attempt in reversed(run.attempts) if attempt.environment)
        built = (best.environment if best else None) or next(others, None)
        image = image_of(run.settings, built, solution.code, run.schemas) if built is not None else None
        return cls(
            plan=candidate.plan if candidate else None,
            solution=solution,
            tests=candidate.tests if candidate else None,
            success=driven.finish.success,
            output=describe_outcome(report),
            exit_code=exit_code_of(report),
            error=None if driven.finish.success else driven.finish.reason,
            attempts=len(run.attempts),
            conversation_history=_messages(driven.calls),
            detected_packages=list(built.packages) if built else [],
            detected_system_packages=list(solution.system_packages),
            image=image,
            total_input_tokens=sum(call.usage.input_tokens for call in run.calls),
            total_output_tokens=sum(call.usage.output_tokens for call in run.calls),
            total_cached_tokens=sum(call.usage.cached_tokens for call in run.calls),
            total_reasoning_tokens=sum(call.usage.reasoning_tokens for call in run.calls),
            cost_usd=total_cost_usd(run.calls),
            declared_inputs=run.request.inputs,
            declared_outputs=run.request.outputs,
            data_context=run.context.text or None,
            original_samples={name: _file(sample) for name, sample in samples.items()},
            generated_schemas={name: render_schema(table) for name, table in run.schemas.items()},
            schemas=run.schemas,
            constraints=run.constraints,
            masked=run.context.masking,
            prompt=run.request.prompt,
            request=run.request,
            profiles=run.context.samples,
            settings=run.settings,
            environment=best.environment if best else None,
            report=report,
            attempt_history=run.attempts,
            dropped_tests=run.dropped_tests,
            confidence=confidence_in(run, best) if best else None,
            disagreement=last_disagreement(run),
            test_strength=strength.share if strength else None,
            surviving_mutants=strength.survivors if strength else (),
            calls=run.calls,
        )

    @BothWays
    async def run(  # noqa: PLR0913 - the settings of one execution, all optional and named by every caller
        self,
        /,
        *,
        name: str = "run_code_on_real_data",
        resources: Any = None,
        retries: int = 0,
        timeout: float | None = None,
        env_vars: Mapping[str, str] | None = None,
        secrets: Any = None,
        cache: CacheMode = "auto",
        inputs: Mapping[str, Any] | None = None,
        validate: ValidateMode | None = None,
        **overrides: Any,
    ) -> tuple[Any, ...]:
        """Run the solution once, in the sandbox, on the samples or on what is passed instead.

        Also `await result.run.aio(...)`. Inputs are passed by keyword; one whose name is taken by a parameter of this
        method goes into `inputs={"name": ...}`. `timeout` is in wall seconds. With `cache="auto"` the same solution on
        the same content is not run twice; `"override"` runs it anew, `"disable"` keeps nothing. `validate` says what
        becomes of a file that breaks its schema: `"strict"` refuses it, `"warn"` logs it, `"off"` does not look; by
        default as the agent's `validation` has it.

        Returns the outputs in declared order, of their declared types; files as FlyteFile.

        Raises:
            NotSuccessfulError: the generation failed.
            InterfaceError: an input is missing, unknown or not of its type.
            DataError: an input file breaks its schema; nothing was run.
            SolutionFailedError: the script ended with an error; the message ends with its stderr.
            OutputError: a declared output is missing, not of its type, or breaks its schema.
        """
        from flyteplugins_codegen.solution.execute import execute_remembered

        task = self.as_task(name, resources, retries, timeout, env_vars, secrets, cache, validate)
        values = {**self.original_samples, **self._checked(overrides), **self._checked(inputs or {})}
        outputs = await in_daemon_thread(execute_remembered, task.bundle, values, task.options, cache)
        return tuple(_typed(outputs[output], kind) for output, kind in self.declared_outputs.items())

    def as_task(  # noqa: PLR0913, PLR0917 - the settings of a task, all optional, in the order that the Flyte 2 plugin has
        self,
        name: str = "run_code_on_real_data",
        resources: Any = None,
        retries: int = 0,
        timeout: float | None = None,
        env_vars: Mapping[str, str] | None = None,
        secrets: Any = None,
        cache: CacheMode = "auto",
        validate: ValidateMode | None = None,
    ) -> SandboxTask:
        """The solution as a Flyte task with the samples as defaults: call it, compose it, register it.

        `validate` is as in `run`; in a pod, its launcher does it.

        Raises NotSuccessfulError when the generation failed.
        """
        from flyteplugins_codegen.solution.task import SandboxTask

        changes = {"resources": resources, "secrets": secrets, "timeout_s": timeout, "env_vars": env_vars}
        changes["validation"] = validate
        given = {field: value for field, value in changes.items() if value is not None}
        # Validated as the agent's own settings are, so that flytekit's Resources and Secret are accepted.
        settings = Settings.model_validate({**dict(self.settings), **given})
        return SandboxTask(
            self.bundle(name),
            defaults=dict(self.original_samples),
            options=_options(settings, retries),
            secrets=settings.secrets,
            cache=cache,
        )

    @BothWays
    async def register(
        self,
        remote: FlyteRemote | None = None,
        project: str | None = None,
        domain: str | None = None,
        version: str | None = None,
        launch_plan: LaunchPlanSettings | None = None,
    ) -> RegisteredSolution:
        """Register the solution's task, and a launch plan of it if asked, in a Flyte control plane.

        `remote` is flytekit's FlyteRemote, by default the one of its configuration; `project` and `domain` are its
        own, or those of the execution that this runs in, or flytesnacks and development. `version` is the digest of
        solution, environment and interface: the same again changes nothing and returns what is there. Where the
        agent's `image_config` names a registry, the image is built and pushed first, unless it is there or `builder`
        is `none`. Also `await result.register.aio(...)`.

        The task keeps code, tests, locked requirements, the request and the masked statistics of the samples, for
        `load_solution`; no row of a sample, no conversation.

        Raises:
            NotSuccessfulError: the generation failed.
            RemoteError: no control plane is configured, it could not be reached, or it refused.
            RequestError: `version` is taken by another solution, or the launch plan does not fit.
            SettingsError, EnvironmentBuildError: the image could not be built or pushed; nothing was registered.
        """
        from flyteplugins_codegen.solution.registration.record import open_remote, place_of
        from flyteplugins_codegen.solution.registration.register import Registrant, register_task

        task = self.as_task(self.settings.name)
        registrant = Registrant(source=self._registrable(), provenance=self._provenance())
        opened = open_remote(remote)
        place = place_of(opened, project, domain)
        image = await self.build_image.aio(push=True) if self._is_image_wanted() else None
        registered = await in_daemon_thread(register_task, task, registrant, opened, place, version, launch_plan)
        return registered.model_copy(update={"built": image})

    @BothWays
    async def build_image(self, *, push: bool = False) -> BuiltImage:
        """Build the solution's image as the agent's `image_config` has it, and push it to its registry if asked.

        The name is made of the content: what is there already is not built again. Running the solution here takes no
        image. Also `await result.build_image.aio(...)`.

        Raises:
            NotSuccessfulError: the generation failed.
            SettingsError: the builder is not there, or a setting of `image_config` is not possible.
            PackageError: the package index or Debian has no such package; the error names it.
            IndexUnavailableError: the index or the disk failed.
            ImageBuildError: building or pushing failed for another reason.
        """
        from flyteplugins_codegen.solution.image import build_solution_image

        config = self.settings.image_config or ImageConfig()
        return await in_daemon_thread(functools.partial(build_solution_image, self.bundle(), config, should_push=push))

    def _is_image_wanted(self) -> bool:
        from flyteplugins_codegen.packages.images.build import NO_BUILDER

        config = self.settings.image_config or ImageConfig()
        return config.registry is not None and config.builder != NO_BUILDER

    def _registrable(self) -> str:
        """The result without whatever shows rows of the samples or was said to a model."""
        bare = {"sample_rows": (), "text_excerpt": None}
        profiles = {name: profile.model_copy(update=bare) for name, profile in self.profiles.items()}
        return self.model_copy(update={"profiles": profiles}).model_dump_json(include=_REGISTRABLE)

    def _provenance(self) -> Provenance:
        from flyteplugins_codegen.solution.registration.record import Provenance, who_asks
        from flyteplugins_codegen.solution.registration.register import package_version

        return Provenance(
            prompt=self.prompt,
            model=self.settings.model,
            registered_by=who_asks(),
            attempts=self.attempts,
            model_calls=len(self.calls),
            cost_usd=self.cost_usd,
            package_version=package_version(),
        )

    def bundle(self, name: str | None = None) -> SolutionBundle:
        """All that is needed to run the solution. Raises NotSuccessfulError when the generation failed."""
        if not self.success or self.environment is None or self.image is None:
            raise NotSuccessfulError(
                f"the generation of {self.settings.name!r} failed, there is no solution to run: {self.error}; "
                "see `attempt_history` for what was tried, or `save(folder)` to look at the last candidate"
            )
        return SolutionBundle(
            name=name or self.settings.name,
            code=self.solution.code,
            lock=self.environment,
            inputs=_as_names(self.declared_inputs),
            outputs=_as_names(self.declared_outputs),
            image=self.image,
            schemas=self.schemas,
        )

    def save(self, folder: str | Path) -> Path:
        """Write the solution folder, and return its path. A failed result is saved too, without `task.py`.

        Raises OSError where the disk does not take it.
        """
        from flyteplugins_codegen.solution.folder import SolutionFolder, write_solution_folder

        contents = SolutionFolder(
            bundle=self.bundle() if self.success else None,
            code=self.solution.code,
            tests=self.tests,
            result_json=self.model_dump_json(indent=2),
            report_html=self._page(),
            task_module=self._task_module() if self.success else None,
            image_config=self.settings.image_config or ImageConfig(),
        )
        return write_solution_folder(Path(folder), contents)

    @classmethod
    def load(cls, folder: str | Path) -> CodeGenEvalResult:
        """The result that `save` wrote. Raises RequestError for a folder that holds none."""
        from flyteplugins_codegen.solution.folder import read_result_json

        return cls.model_validate_json(read_result_json(Path(folder)))

    def _task_module(self) -> str:
        from flyteplugins_codegen.solution.folder import render_task_module

        return render_task_module(self.bundle(), _options(self.settings), self.settings.secrets)

    def _checked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        for name in values:
            if name not in self.declared_inputs:
                known = ", ".join(self.declared_inputs) or "none"
                raise InterfaceError(f"there is no input {name!r}; declared inputs: {known}")
        return dict(values)

    def __repr__(self) -> str:
        """Two lines: how it went, and what to do with it."""
        tokens = f"{self.total_input_tokens:,} tokens in, {self.total_output_tokens:,} out"
        cost = "" if self.cost_usd is None else f", {self.cost_usd:.4g} USD"
        spent = f"{self.attempts} attempts, {len(self.calls)} model calls, {tokens}{cost}"
        if not self.success:
            return f"CodeGenEvalResult(failed: {self.error})\n  {spent}"
        trust = "" if self.confidence is None else f", confidence {self.confidence:.2f}"
        trust += "" if self.test_strength is None else f", test strength {self.test_strength:.2f}"
        return f"CodeGenEvalResult(success, {self.settings.name!r})\n  {spent}{trust}; next: {_NEXT}"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from flyteplugins_codegen.stages.report.page import as_frame

        return as_frame(self._page())

    def _page(self) -> str:
        from flyteplugins_codegen.solution.folder import task_variable
        from flyteplugins_codegen.stages.candidates.explain import final_attempt
        from flyteplugins_codegen.stages.report.page import ReportContent, render_page

        run = Run(
            settings=self.settings,
            request=self.request,
            context=DataContext(samples=self.profiles, masking=self.masked, text=self.data_context or ""),
            schemas=self.schemas,
            constraints=self.constraints,
            attempts=self.attempt_history,
            dropped_tests=self.dropped_tests,
            calls=self.calls,
        )
        task_name = task_variable(self.settings.name) if self.success else None
        chosen = final_attempt(run)
        return render_page(
            ReportContent(
                run=run,
                chosen=chosen.number if chosen else None,
                error=self.error,
                confidence=self.confidence,
                disagreement=self.disagreement,
                image=self.image,
                task_name=task_name,
            )
        )


def _options(settings: Settings, retries: int = 0) -> ExecutionOptions:
    """How a run of the solution is done: as it was judged, unless the settings were changed since."""
    from flyteplugins_codegen.solution.execute import ExecutionOptions

    return ExecutionOptions(
        sandbox=settings.sandbox,
        resources=settings.resources,
        timeout_s=settings.timeout_s,
        env_vars=settings.env_vars,
        retries=retries,
        validation=settings.validation,
        pod=settings.pod,
    )


def _messages(calls: tuple[ModelCall, ...]) -> list[dict[str, str]]:
    return [
        {"purpose": call.purpose, "role": message.role, "content": message.text}
        for call in calls
        for message in call.messages
    ]


def _file(sample: str | FlyteFile) -> FlyteFile:
    return FlyteFile(sample) if isinstance(sample, str) else sample


def _typed(value: Any, kind: type) -> Any:
    return kind(str(value)) if kind in {FlyteFile, FlyteDirectory} else value
