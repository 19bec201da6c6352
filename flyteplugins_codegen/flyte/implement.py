"""`implement` as a Flyte task, for workflows and `pyflyte run`.

Like the other tasks that call a model, it requests the secret that `FLYTE_CODEGEN_SECRET` names. Flyte caches it: the
same definition and configurations are paid for once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from flytekit import task

from flyteplugins_codegen.autogen.arguments import read_timeout
from flyteplugins_codegen.autogen.generate import generate_assertions
from flyteplugins_codegen.autogen.implement import STEP_KEYS, implement
from flyteplugins_codegen.autogen.model_config import read_config
from flyteplugins_codegen.errors import SettingsError
from flyteplugins_codegen.flyte.cli import launchable
from flyteplugins_codegen.flyte.launch import check_model_here, checked_before_launch
from flyteplugins_codegen.flyte.pods import SANDBOX_POD, keeping_replies
from flyteplugins_codegen.flyte.state import JUDGING_CODE, cached_by_code
from flyteplugins_codegen.flyte.tasks import model_secrets
from flyteplugins_codegen.solution.flytekit import readable_errors
from flyteplugins_codegen.source.python import read_definition


class Implemented(NamedTuple):
    """As `Implementation`: the whole program, its cost in USD where known, and the index of its configuration."""

    code: str
    cost: float | None
    config_index: int


def check_implement_launch(*, definition: str, configs: list[dict] | None, timeout: float, **_: Any) -> None:
    """Check the options as far as the machine that launches knows them: no key is asked for. Raises RequestError."""
    read_definition(definition)
    read_timeout(timeout)
    check_no_keys(configs)
    for config in configs or []:
        check_model_here(read_config({name: config[name] for name in config if name not in STEP_KEYS}).settings)


def check_no_keys(configs: list[dict] | None) -> None:
    """Raise SettingsError for a configuration with a key's value."""
    for number, config in enumerate(configs or [], 1):
        if "api_key" in config:
            raise SettingsError(
                f"configuration {number} holds api_key, which would be kept with the task's inputs for all to read; "
                "give the NAME of the variable or secret as api_key_env"
            )


@checked_before_launch(check_implement_launch)
@launchable
@task(
    cache=cached_by_code("autogen", "llm", *JUDGING_CODE),
    secret_requests=model_secrets(),
    **SANDBOX_POD,
)
@readable_errors
@keeping_replies
def implement_task(
    definition: str,
    configs: list[dict] | None = None,
    assertions: str = "",
    timeout: float = 3.0,
    max_cost_usd: float | None = None,
) -> Implemented:
    """Implement a function by models from cheap to strong, stopping at the first that passes the assertions.

    Args:
        definition: signature and docstring, after the imports and functions that the function may use
        configs: models from cheap to strong, a JSON list such as [{"model": "openai/NAME", "n": 3}]; the key by the
            name of its variable or secret, "api_key_env"
        assertions: Python asserts that call the function; by default the models write them
        timeout: seconds that each response has for the assertions
        max_cost_usd: what all calls together may cost at most
    """
    check_no_keys(configs)
    implementation = implement(
        definition,
        configs,
        assertions or generate_assertions,
        timeout=timeout,
        budget={"max_cost_usd": max_cost_usd} if max_cost_usd is not None else None,
    )
    return Implemented(*implementation)
