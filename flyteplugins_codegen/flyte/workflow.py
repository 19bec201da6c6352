"""`AutoCoderAgent.generate()` as a Flyte workflow: its stages and decisions, each in its own pod."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from flytekit import dynamic, task, workflow
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.agent import AutoCoderAgent
from flyteplugins_codegen.flyte.cli import launchable
from flyteplugins_codegen.flyte.launch import (
    check_generation,
    check_generation_with,
    checked_before_launch,
    configured_agent,
)
from flyteplugins_codegen.flyte.loop import Ending, stages_of
from flyteplugins_codegen.flyte.pods import FIRST_POD
from flyteplugins_codegen.flyte.preflight import check_before_spending
from flyteplugins_codegen.flyte.state import RunState, choose_salt, in_fixed_order
from flyteplugins_codegen.flyte.tasks import Generated, model_secrets
from flyteplugins_codegen.models.data import PrivacyMode, ValidateMode
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.settings import ApiName, Backend, CacheMode, SandboxKind
from flyteplugins_codegen.solution.flytekit import readable_errors, runs_locally
from flyteplugins_codegen.stages.prepare import JobArguments, check_sandbox, prepare_job

OutputT = TypeVar("OutputT")

_MAPS: Final = frozenset({"samples", "inputs", "outputs"})
"""Arguments that reach a pod without an order."""


@launchable
@task(**FIRST_POD)
@readable_errors
def prepare(  # noqa: PLR0913 - the arguments of `AutoCoderAgent.generate()`
    *,
    agent: AutoCoderAgent,
    prompt: str,
    schema: str = "",
    constraints: list[str] | None = None,
    samples: dict[str, FlyteFile] = {},  # noqa: B006 - never changed; as the workflow has it
    inputs: dict | None = None,
    outputs: dict[str, str] | None = None,
    examples: list[dict] | None = None,
    tests: str = "",
    schemas: dict | None = None,
) -> RunState:
    """Check the request. Never cached: it reads the samples' content, which every later stage is cached by.

    Args:
        agent: the settings, a JSON object such as {"model": "openai/NAME"}
        prompt: the job in words
        schema: free text about formats and structures
        constraints: requirements, one sentence each
        samples: a JSON object of name to path
        inputs: further inputs by name and type, or a list of type and value such as ["int", 5]
        outputs: outputs by name and type
        examples: cases that must hold, a JSON list of {inputs, outputs}
        tests: pytest source of your own
        schemas: schemas of your own by the name of a sample or output file
    """
    state = _prepared(**locals())
    if runs_locally():
        check_sandbox(agent.sandbox)
    return state


def _prepared(*, agent: AutoCoderAgent, schema: str, tests: str, **arguments: Any) -> RunState:
    """The run whose request was checked."""
    for name in _MAPS & arguments.keys():
        arguments[name] = in_fixed_order(arguments[name] or {})
    job = prepare_job(
        JobArguments(schema_text=schema or None, tests=tests or None, skip_tests=agent.skip_tests, **arguments)
    )
    run = Run(settings=agent.settings, request=job.request)
    return RunState(run=run, salt=choose_salt(run))


def _take_stages(agent: AutoCoderAgent, job: Mapping[str, Any]) -> Generated:
    """In a dynamic workflow, the nodes of all stages. `job` has the other arguments of `generate_with`."""
    arguments = {name: job[name] for name in prepare.python_interface.inputs if name != "agent"}
    ending = Ending(**{name: job[name] for name in Ending._fields})
    state = _prepared(agent=agent, **arguments)
    check_before_spending(agent.settings, save_to=ending.save_to, register=ending.register)
    return stages_of(state, job["samples"], ending)


@checked_before_launch(check_generation_with)
@launchable
@workflow
@readable_errors
def generate_with(  # noqa: PLR0913 - the arguments of `AutoCoderAgent.generate()`, and what becomes of the result
    *,
    agent: AutoCoderAgent,
    prompt: str,
    schema: str = "",
    constraints: list[str] | None = None,
    samples: dict[str, FlyteFile] = {},  # noqa: B006 - never changed; an error in a file of a plain dict is
    # reported by flytekit, one of an optional dict is hidden behind `None`
    inputs: dict | None = None,
    outputs: dict[str, str] | None = None,
    examples: list[dict] | None = None,
    tests: str = "",
    schemas: dict | None = None,
    save_to: str = "",
    allow_failure: bool = False,
    register: bool = False,
) -> Generated:
    """Generate tested code with the settings of an agent: for use in workflows of your own.

    Args:
        agent: the settings
        prompt: the job in words
        schema: free text about formats and structures, shown to the model as it is
        constraints: requirements, one sentence each
        samples: name to file; each is a file input of the solution
        inputs: name to type of further inputs: str int float bool file directory; with a value for the runs that judge,
            a list of both such as ["int", 5], or just a number or a boolean
        outputs: name to type: those, and datetime timedelta
        examples: cases that must hold
        tests: pytest source of your own, importing from `solution`
        schemas: schemas of your own by the name of a sample or output file, as saved solutions have in `schemas.json`
        save_to: where the solution folder goes
        allow_failure: return the result of a run without success, too
        register: register the solution as a task in the control plane of flytekit's configuration
    """
    return Generated(*take_stages(**locals()))


@checked_before_launch(check_generation)
@launchable
@workflow
@readable_errors
def generate(  # noqa: PLR0913 - a command line is flat: one option for each argument and setting
    *,
    prompt: str,
    model: str,
    samples: dict[str, FlyteFile] = {},  # noqa: B006 - never changed; an error in a file of a plain dict is
    # reported by flytekit, one of an optional dict is hidden behind `None`
    inputs: dict | None = None,
    outputs: dict[str, str] | None = None,
    examples: list[dict] | None = None,
    tests: str = "",
    schemas: dict | None = None,
    schema: str = "",
    constraints: list[str] | None = None,
    name: str = "auto-coder",
    save_to: str = "",
    allow_failure: bool = False,
    register: bool = False,
    api_key: str = "",
    api_base: str = "",
    api: ApiName = "chat",
    stream: bool = False,
    max_concurrent_calls: int = 16,
    model_params: dict | None = None,
    system_prompt: str = "",
    base_packages: list[str] | None = None,
    image_config: dict | None = None,
    max_iterations: int = 10,
    backend: Backend = "calls",
    max_turns: int = 20,
    candidates: int | None = None,
    budget: dict | None = None,
    prices: dict | None = None,
    max_sample_rows: int = 100,
    privacy: PrivacyMode = "masked",
    private_columns: list[str] | None = None,
    private_rows: int = 5,
    validation: ValidateMode = "strict",
    skip_tests: bool = False,
    reference: bool = True,
    min_test_strength: float = 0.6,
    timeout_s: float | None = None,
    resources: dict | None = None,
    env_vars: dict[str, str] | None = None,
    secrets: list[dict] | None = None,
    cache: CacheMode = "auto",
    sandbox: SandboxKind = "auto",
    sandbox_retries: int = 0,
    record: str = "",
    pod: dict | None = None,
    stage_settings: dict | None = None,
) -> Generated:
    """Turn a prompt and sample data into tested code that runs as a Flyte task.

    Writes a solution and tests, runs both in a sandbox, repairs until everything passes, and leaves a folder with
    the code, its tests, its pinned requirements, a report, and a `task.py` to run it again with `pyflyte run`. Fails
    when no candidate passes. Started again after a crash, it takes up where it was, and pays for no reply twice.

    Args:
        prompt: the job in words
        model: openai/NAME, anthropic/NAME, a bare gpt-* or claude-* name, or replay:FILE for recorded replies
        samples: data to work on, a JSON object of name to path; each is a file input of the solution
        inputs: further inputs by name and type (str int float bool file directory); with a value for the runs that
            judge, a list of both such as ["int", 5], or just a number or a boolean
        outputs: outputs by name and type (those, and datetime timedelta)
        examples: cases that must hold, a JSON list of {inputs, outputs}; inputs left out are the samples
        tests: pytest source of your own that must pass, importing from `solution`
        schemas: schemas of your own by the name of a sample or output file, as saved solutions have in `schemas.json`
        schema: free text about formats and structures, shown to the model as it is
        constraints: requirements, one sentence each
        name: names the task, the image and the log lines
        save_to: where the solution folder goes; on a cluster an address such as s3://bucket/solutions
        allow_failure: return the result of a run without success, too
        register: register the solution as a task in the control plane of flytekit's configuration
        api_key: NAME of the environment variable or secret that holds the key, never the key itself
        api_base: address of an OpenAI- or Anthropic-compatible server of your own
        api: chat or responses, what is tried first with OpenAI's protocol
        stream: have replies streamed, for gateways that cut quiet calls
        max_concurrent_calls: calls at one server at once, of one process
        model_params: passed on to the provider's call
        system_prompt: replaces the opening of the system prompt
        base_packages: distributions that every candidate may import
        image_config: the image that the solution is registered with, a JSON object of registry, base_image, platform,
            python_version
        max_iterations: how many candidates are tried at most, those made at once counted each
        backend: calls asks one question for each step, agent has the model work by tools
        max_turns: turns of an agent at most
        candidates: how many solutions are asked for at once; by default one, and three when it and two repairs failed
        budget: what model calls may spend, a JSON object of max_calls, max_tokens, max_cost_usd, max_wall_s
        prices: your own prices by the model's name, each a JSON object of input_usd and output_usd for a million tokens
        max_sample_rows: how many rows of a sample the model sees at most
        privacy: masked sends rows with personal values replaced, rows sends them as they are, profile sends statistics
        private_columns: columns whose values are private, each as column or sample.column
        private_rows: by privacy=profile, rows that a value must occur in to be sent
        validation: strict refuses data that breaks its schema, warn says so, off does not look
        skip_tests: ask for no generated tests
        reference: have the author of the tests also write a computation that the solution's outputs are compared with
        min_test_strength: share of the mutants of a solution below which stronger tests are asked for once; 0 for never
        timeout_s: wall seconds that one run of the solution may take
        resources: what one run of the solution may use, a JSON object of cpu, mem, gpu, ephemeral_storage
        env_vars: environment of the solution, a JSON object of name to value; no place for secrets
        secrets: secrets of the solution on a cluster, a JSON list of {group, key}, never their values
        cache: auto reuses finished work, override does it anew, disable keeps nothing
        sandbox: auto, bubblewrap, container, or none for code that you trust
        sandbox_retries: retries of a sandbox that failed itself, not of a test
        record: file that every reply is recorded to, for replay:FILE
        pod: the solution's pod on a cluster, a JSON object of runtime_class, labels, tmp_size
        stage_settings: stages' pods on a cluster, a JSON object of name to resources, retries, timeout_s, image,
            cache, pod_template
    """
    return Generated(*configure_and_take_stages(**locals()))


def _with_parameters_of(workflow_function: Callable[..., OutputT]) -> Callable[..., Callable[..., OutputT]]:
    """Give a function of `**options` the parameters of a workflow's function, as flytekit reads them."""

    def decorate(function: Callable[..., OutputT]) -> Callable[..., OutputT]:
        parameters = inspect.signature(workflow_function).parameters.values()
        function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # `inspect.signature` returns it
            [parameter.replace(default=inspect.Parameter.empty) for parameter in parameters],
            return_annotation=Generated,
        )
        function.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": Generated}
        return function

    return decorate


# A first pod has the key only to find out that it is there.
@dynamic(secret_requests=model_secrets(), **FIRST_POD)
@readable_errors
@_with_parameters_of(generate_with.function)
def take_stages(**job: Any) -> Generated:
    """Check the request, and take all stages. Never cached: later stages are cached by the samples' content."""
    return _take_stages(job["agent"], job)


@dynamic(secret_requests=model_secrets(), **FIRST_POD)
@readable_errors
@_with_parameters_of(generate.function)
def configure_and_take_stages(**options: Any) -> Generated:
    """As `take_stages`, with the agent's settings one by one. Raises SettingsError for one that is not possible."""
    options["env_vars"] = in_fixed_order(options["env_vars"] or {})
    return _take_stages(configured_agent(options), options)
