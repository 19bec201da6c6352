"""The agent: the settings of a run, and the call that generates a solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict

from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.sync import BothWays

if TYPE_CHECKING:
    from flyteplugins_codegen.result import CodeGenEvalResult


class AutoCoderAgent(Settings):
    """Writes a Python script for a job, with tests, and repairs it until it passes.

    A frozen pydantic model, valid as a Flyte task input. It has no process-wide state: agents with different endpoints
    and keys run side by side.

        agent = AutoCoderAgent(model="openai/gpt-4.1", base_packages=["pandas"])
        result = agent.generate(
            "Total revenue: the sum of quantity times price",
            samples={"sales": "sales.csv"},
            outputs={"total": float},
        )
        (total,) = result.run(sales="other.csv")
    """

    model_config = ConfigDict(ignored_types=(BothWays,))

    @BothWays
    async def generate(  # noqa: PLR0913, PLR0917 - the arguments are the job, each optional but the first, named by every caller
        self,
        prompt: str,
        schema: str | None = None,
        constraints: Sequence[str] | None = None,
        samples: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
        examples: Sequence[Any] | None = None,
        tests: str | None = None,
        schemas: Mapping[str, Any] | None = None,
    ) -> CodeGenEvalResult:
        """Generate a solution and judge it, repairing until it passes or `max_iterations` candidates have failed.

        Also `await agent.generate.aio(...)`. No argument is changed. The same call after a killed run reuses the
        replies that were paid for and the stages that were finished.

        Args:
            prompt: The job in words.
            schema: Free text about formats and structures, shown to the model unchanged.
            constraints: Requirements, one sentence each.
            samples: Name to a path, FlyteFile, StructuredDataset or data frame (pandas, pyarrow, polars; written as
                CSV). Each is a file input with the sample as default.
            inputs: Name to type, for further inputs: `str int float bool FlyteFile FlyteDirectory`, or the names
                `str int float bool file directory`. With a value, `(int, 5)` or just `5` for a number or a bool, every
                candidate runs on the samples with it; otherwise with a value of the examples or generated tests, if
                one is certain.
            outputs: Name to type: those, and `datetime`, `timedelta`.
            examples: Cases that must hold, `{"inputs": {...}, "outputs": {...}}`; omitted inputs are the samples.
            tests: pytest source of the user's own, importing from `solution`. Never edited, always run.
            schemas: Name of a sample or output file to a Pandera schema that it must satisfy, now and in every run. For
                a sample without one, a schema is inferred.

        Returns:
            The result; `success` says whether a candidate passed everything.

        Raises:
            RequestError: a name, type, sample, schema, example or test is not possible, or a sample breaks a
                constraint; nothing was spent on a solution.
            ModelError: the model could not be reached or gave no usable reply.
            IndexUnavailableError: packages could not be resolved because the index or this machine failed.
            SandboxError: the sandbox failed, or this machine has none.
        """
        from flyteplugins_codegen.models.run import Run
        from flyteplugins_codegen.result import CodeGenEvalResult
        from flyteplugins_codegen.stages.drive import drive
        from flyteplugins_codegen.stages.prepare import JobArguments, prepare_job

        job = prepare_job(
            JobArguments(
                prompt=prompt,
                schema_text=schema,
                constraints=constraints,
                schemas=schemas,
                samples=samples,
                inputs=inputs,
                outputs=outputs,
                examples=examples,
                tests=tests,
                skip_tests=self.skip_tests,
            )
        )
        driven = await drive(Run(settings=self.settings, request=job.request), job.samples)
        # A remote file is kept by its address: its path in a pod would be of no use elsewhere.
        remote = {name: file for name, file in (samples or {}).items() if getattr(file, "remote_source", None)}
        local = {name: str(path) for name, path in job.samples.items()}
        return CodeGenEvalResult.from_run(driven, {**local, **remote})

    @property
    def settings(self) -> Settings:
        """The settings without the agent, as a run stores them."""
        return Settings(**{name: getattr(self, name) for name in Settings.model_fields})
