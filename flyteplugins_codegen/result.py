"""The result of a run: the solution, how it was judged, and the ways to run, save and register it.

Every module that names the type imports this one, so a library that a single method needs is imported in that method.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile
from pydantic import ConfigDict

from flyteplugins_codegen.errors import InterfaceError, NotSuccessfulError
from flyteplugins_codegen.models.data import DataContext, ValidateMode
from flyteplugins_codegen.models.job import SolutionBundle
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.settings import BuiltImage, CacheMode, ImageConfig, Settings
from flyteplugins_codegen.result_parts import (
    CallTotals,
    JobRecord,
    RunHistory,
    RunOutcome,
    SolutionData,
    SolutionPackages,
    WrittenSolution,
    as_type_names,
    read_parts,
)
from flyteplugins_codegen.sync import BothWays, in_daemon_thread

if TYPE_CHECKING:
    from flytekit.remote import FlyteRemote

    from flyteplugins_codegen.solution.execute import ExecutionOptions
    from flyteplugins_codegen.solution.registration.launch_plans import LaunchPlanSettings
    from flyteplugins_codegen.solution.registration.record import Provenance, RegisteredSolution
    from flyteplugins_codegen.solution.task import SandboxTask
    from flyteplugins_codegen.stages.actions import Driven


_NEXT: Final = ".run(), .as_task(), .save(folder), .build_image(), .register()"

# Everyone who may read a task reads what is registered with it. These fields are enough to run the solution, and to
# generate it again when the data change.
_REGISTRABLE: Final = {
    *("plan", "solution", "tests", "success", "detected_packages", "detected_system_packages", "image", "environment"),
    *("declared_inputs", "declared_outputs", "schemas", "generated_schemas", "constraints"),
    *("prompt", "request", "profiles", "settings"),
}


# pydantic takes the fields of the last base first: read from right to left, this is the order of the JSON.
class CodeGenEvalResult(RunHistory, JobRecord, SolutionData, CallTotals, SolutionPackages, RunOutcome, WrittenSolution):
    """The outcome of `AutoCoderAgent.generate()`. Crosses Flyte task boundaries; its JSON keeps every field.

    `success` means: every example and test of the user passed, the script ran on the samples and wrote every declared
    output with its type, all generated tests passed; and where several candidates did all this with different outputs,
    most of them agree with this one. After a failed run, `solution` is the candidate that came farthest.

    `confidence` is how likely the solution is right by the evidence for it, from 0 to 1 and never 1, None where it
    cannot be estimated (`stages.candidates.confidence`). `disagreement` is an input on which candidates
    differed. `test_strength` is the share of wrong versions of the solution, each with one small mistake, for which a
    test fails, None where it was not measured; `surviving_mutants` are the mistakes that pass all tests.

    `cost_usd` is what this run paid for its model calls, None where a price is unknown. `calls` accounts for every
    model call, `conversation_history` has every message of every call. `attempt_history` has every candidate and what
    happened to it, `dropped_tests` the generated tests that are no longer used and why.

    `request` is the whole job. `profiles` are the samples' statistics, masked as for a model; `masked` says what was
    replaced in each sample before a model saw it. Files are validated against `schemas` when the solution runs;
    `generated_schemas` are the same as Pandera source. `constraints` says what was made of each constraint.
    """

    model_config = ConfigDict(ignored_types=(BothWays,), protected_namespaces=())

    @classmethod
    def from_run(cls, driven: Driven, samples: Mapping[str, str | FlyteFile]) -> CodeGenEvalResult:
        """The result of a finished run. `samples`, paths or files by name, become the defaults of the inputs."""
        return cls(**{name: value for part in read_parts(driven, samples) for name, value in part})

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

        Also `await result.run.aio(...)`. Inputs are passed by keyword; an input with the name of a parameter of this
        method goes into `inputs={"name": ...}`. `timeout` is in wall seconds. With `cache="auto"` the same solution
        does not run twice on the same content; `"override"` runs it again, `"disable"` caches nothing. `validate` says
        what happens to a file that breaks its schema: `"strict"` refuses it, `"warn"` logs it, `"off"` checks nothing;
        the default is the agent's `validation`.

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

        `validate` is as in `run`; in a pod the launcher validates. `cache` is as in `run`, for runs on this machine; a
        cluster runs the task each time, unless it is called as `cached_by_content(task)`.

        Raises NotSuccessfulError when the generation failed, SettingsError for a setting that is not possible.
        """
        from flyteplugins_codegen.solution.task import SandboxTask

        changes = {"resources": resources, "secrets": secrets, "timeout_s": timeout, "env_vars": env_vars}
        changes["validation"] = validate
        provided = {field: value for field, value in changes.items() if value is not None}
        # Validated like the agent's own settings, so that flytekit's Resources and Secret are accepted.
        settings = Settings.model_validate({**dict(self.settings), **provided})
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

        `remote` is flytekit's FlyteRemote, by default that of flytekit's configuration. `project` and `domain` default
        to the remote's own, then to those of the current execution, then to flytesnacks and development. `version`
        defaults to the digest of solution, environment and interface: registering the same solution again changes
        nothing and returns the registered one. Where the agent's `image_config` names a registry, the image is built
        and pushed first, unless it exists or `builder` is `none`. Also `await result.register.aio(...)`.

        The task stores code, tests, locked requirements, the request and the masked statistics of the samples for
        `load_solution`; no row of a sample and no conversation.

        Raises:
            NotSuccessfulError: the generation failed.
            RemoteError: no control plane is configured, it could not be reached, or it refused.
            RequestError: `version` is taken by another solution, or the launch plan does not fit.
            SettingsError, EnvironmentBuildError: the image could not be built or pushed; nothing was registered.
        """
        from flyteplugins_codegen.solution.registration.record import choose_project_domain, open_remote
        from flyteplugins_codegen.solution.registration.register import Registrant, register_task

        task = self.as_task(self.settings.name)
        registrant = Registrant(source=self._registrable(), provenance=self._provenance())
        opened = open_remote(remote)
        target = choose_project_domain(opened, project, domain)
        image = await self.build_image.aio(push=True) if self._is_image_wanted() else None
        registered = await in_daemon_thread(register_task, task, registrant, opened, target, version, launch_plan)
        return registered.model_copy(update={"built": image})

    @BothWays
    async def build_image(self, *, push: bool = False) -> BuiltImage:
        """Build the solution's image by the agent's `image_config`, and push it to its registry if `push`.

        The name is derived from the content, so an image that exists is not built again. Running the solution on this
        machine needs no image. Also `await result.build_image.aio(...)`.

        Raises:
            NotSuccessfulError: the generation failed.
            SettingsError: the builder is missing, or a setting of `image_config` is not possible.
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
        """The result as JSON without rows of the samples and without conversations.

        With the address that the model was asked at where it is not the provider's: a refresh asks whoever starts it.
        """
        from flyteplugins_codegen.llm.registry import own_address

        bare = {"sample_rows": (), "text_excerpt": None}
        profiles = {name: profile.model_copy(update=bare) for name, profile in self.profiles.items()}
        settings = self.settings.model_copy(update={"api_base": own_address(self.settings, os.environ)})
        recorded = self.model_copy(update={"profiles": profiles, "settings": settings})
        return recorded.model_dump_json(include=_REGISTRABLE)

    def _provenance(self) -> Provenance:
        from flyteplugins_codegen.solution.registration.record import Provenance, current_user
        from flyteplugins_codegen.solution.registration.register import package_version

        return Provenance(
            prompt=self.prompt,
            model=self.settings.model,
            registered_by=current_user(),
            attempts=self.attempts,
            model_calls=len(self.calls),
            cost_usd=self.cost_usd,
            package_version=package_version(),
        )

    def bundle(self, name: str | None = None) -> SolutionBundle:
        """Everything that running the solution needs. Raises NotSuccessfulError when the generation failed."""
        if not self.success or self.environment is None or self.image is None:
            raise NotSuccessfulError(
                f"the generation of {self.settings.name!r} failed, there is no solution to run: {self.error}; "
                "see `attempt_history` for what was tried, or `save(folder)` to look at the last candidate"
            )
        return SolutionBundle(
            name=name or self.settings.name,
            code=self.solution.code,
            lock=self.environment,
            inputs=as_type_names(self.declared_inputs),
            outputs=as_type_names(self.declared_outputs),
            image=self.image,
            schemas=self.schemas,
        )

    @property
    def ran_on_samples(self) -> bool:
        """Whether the script of `solution` ran on the real samples, outside of pytest.

        False where an input without a sample has no known value: give one, `inputs={"top": (int, 5)}`. Then only tests
        have run the script. For a job without samples: whether it ran outside of pytest at all.
        """
        from flyteplugins_codegen.stages.arguments import ran_on_samples

        return ran_on_samples(self.request, self.report)

    def save(self, folder: str | Path) -> Path:
        """Write the solution folder, and return its path. A failed result is saved too, without `task.py`.

        Raises OSError when the folder cannot be written.
        """
        from flyteplugins_codegen.solution.folder import SolutionFolder, render_task_module, write_solution_folder

        bundle = self.bundle() if self.success else None
        contents = SolutionFolder(
            bundle=bundle,
            code=self.solution.code,
            tests=self.tests,
            result_json=self.model_dump_json(indent=2),
            report_html=self._page(),
            task_module=render_task_module(bundle, _options(self.settings), self.settings.secrets) if bundle else None,
            image_config=self.settings.image_config or ImageConfig(),
        )
        return write_solution_folder(Path(folder), contents)

    @classmethod
    def load(cls, folder: str | Path) -> CodeGenEvalResult:
        """The result that `save` wrote. Raises RequestError for a folder without one."""
        from flyteplugins_codegen.solution.folder import read_result_json

        return cls.model_validate_json(read_result_json(Path(folder)))

    def _checked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        for name in values:
            if name not in self.declared_inputs:
                known = ", ".join(self.declared_inputs) or "none"
                raise InterfaceError(f"there is no input {name!r}; declared inputs: {known}")
        return dict(values)

    def __repr__(self) -> str:
        """Two lines: how the run ended, and what to do with the result."""
        tokens = f"{self.total_input_tokens:,} tokens in, {self.total_output_tokens:,} out"
        cost = "" if self.cost_usd is None else f", {self.cost_usd:.4g} USD"
        spent = f"{self.attempts} attempts, {len(self.calls)} model calls, {tokens}{cost}"
        if not self.success:
            return f"CodeGenEvalResult(failed: {self.error})\n  {spent}"
        trust = "" if self.confidence is None else f", confidence {self.confidence:.2f}"
        trust += "" if self.ran_on_samples else ", not run on the samples"
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
    """How the solution is executed: as it was judged, unless the settings were changed since."""
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


def _typed(value: Any, kind: type) -> Any:
    return kind(str(value)) if kind in {FlyteFile, FlyteDirectory} else value
