"""What comes before the stages, as Flyte tasks: settings as one value, and a request that is checked.

JSON objects are declared as bare `dict`: flytekit sends those as JSON, and pickles the values of a `dict[str, Any]`.
"""

from __future__ import annotations

from flytekit import task
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.agent import AutoCoderAgent
from flyteplugins_codegen.flyte.caching import choose_salt, runs_locally
from flyteplugins_codegen.flyte.launching import launchable
from flyteplugins_codegen.flyte.readable import checked, readable_errors
from flyteplugins_codegen.flyte.state import RunState
from flyteplugins_codegen.models.profile import PrivacyMode
from flyteplugins_codegen.models.rules import ValidateMode
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.settings import ApiName, Backend, CacheMode, SandboxKind
from flyteplugins_codegen.stages.prepare import JobArguments, check_sandbox, prepare_job


@task
@readable_errors
def configure(  # noqa: PLR0913 - a command line is flat: one option for each setting
    *,
    model: str,
    name: str,
    api_key: str,
    api_base: str,
    api: ApiName,
    stream: bool,
    max_concurrent_calls: int,
    model_params: dict | None,
    system_prompt: str,
    base_packages: list[str] | None,
    image_config: dict | None,
    max_iterations: int,
    backend: Backend,
    max_turns: int,
    candidates: int | None,
    budget: dict | None,
    prices: dict | None,
    max_sample_rows: int,
    privacy: PrivacyMode,
    private_columns: list[str] | None,
    private_rows: int,
    validation: ValidateMode,
    skip_tests: bool,
    min_test_strength: float,
    timeout_s: float | None,
    resources: dict | None,
    env_vars: dict[str, str] | None,
    secrets: list[dict] | None,
    cache: CacheMode,
    sandbox: SandboxKind,
    sandbox_retries: int,
    record: str,
    pod: dict | None,
    stage_settings: dict | None,
) -> AutoCoderAgent:
    """The settings as one value. Raises SettingsError for one that is not possible."""
    given = {field: value for field, value in locals().items() if value is not None and value != ""}
    return checked(AutoCoderAgent, **given)


@launchable
@task
@readable_errors
def prepare(  # noqa: PLR0913 - the arguments of `AutoCoderAgent.generate()`
    *,
    agent: AutoCoderAgent,
    prompt: str,
    schema: str = "",
    constraints: list[str] | None = None,
    samples: dict[str, FlyteFile] = {},  # noqa: B006 - never changed; as the workflow has it
    inputs: dict[str, str] | None = None,
    outputs: dict[str, str] | None = None,
    examples: list[dict] | None = None,
    tests: str = "",
    schemas: dict | None = None,
) -> RunState:
    """Check the request. Never cached: it reads the samples' content, by which everything after it is kept.

    Args:
        agent: the settings, a JSON object such as {"model": "openai/NAME"}
        prompt: the job in words
        schema: free text about formats and structures
        constraints: requirements, one sentence each
        samples: a JSON object of name to path
        inputs: further inputs by name and type
        outputs: outputs by name and type
        examples: cases that must hold, a JSON list of {inputs, outputs}
        tests: pytest source of your own
        schemas: schemas of your own by the name of a sample or output file
    """
    job = prepare_job(
        JobArguments(
            prompt=prompt,
            schema_text=schema or None,
            constraints=constraints,
            samples=samples,
            inputs=inputs,
            outputs=outputs,
            examples=examples,
            tests=tests or None,
            schemas=schemas,
            skip_tests=agent.skip_tests,
        )
    )
    run = Run(settings=agent.settings, request=job.request)
    if runs_locally():
        check_sandbox(run.settings.sandbox)
    return RunState(run=run, salt=choose_salt(run))
