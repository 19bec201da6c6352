"""What `pyflyte run --remote` checks on this machine, before it registers or launches anything.

flytekit runs no code of a workflow there: it converts the options, reads the workflow's interface, registers and
launches. The interface is the place where a check of ours can stand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, get_args

import click
from flytekit.core.context_manager import FlyteContextManager
from flytekit.core.interface import Interface
from flytekit.core.type_engine import TypeEngine

from flyteplugins_codegen.agent import AutoCoderAgent
from flyteplugins_codegen.errors import UnknownModelError
from flyteplugins_codegen.flyte.preflight import check_reaches_beyond_pod, warn_of_registry
from flyteplugins_codegen.llm.registry import check_model_settings
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.solution.flytekit import checked, logger, readable_errors
from flyteplugins_codegen.stages.preflight import check_together
from flyteplugins_codegen.stages.prepare import JobArguments, check_job

EntityT = TypeVar("EntityT", bound=Any)

_CHECKED: Final = "flyteplugins_codegen.launch"
_INPUTS_FILE: Final = "inputs_file"
"""An option that flytekit gives every entity."""

# --- the hook ---


def checked_before_launch(check: Callable[..., object]) -> Callable[[EntityT], EntityT]:
    """Decorates a task or workflow: `pyflyte run --remote` calls `check` with its inputs before it registers it.

    Nothing is changed for `pyflyte register`, `pyflyte package`, FlyteRemote, local runs and pods.
    """

    def decorate(entity: EntityT) -> EntityT:
        kind: Any = type(entity)

        def python_interface(self: Any) -> Interface:
            _rich_traceback_omit = True
            interface: Interface = kind.python_interface.fget(self)
            _check_launch(interface, check)
            return interface

        entity.__class__ = type(kind.__name__, (kind,), {"python_interface": property(python_interface)})
        return entity

    return decorate


@readable_errors
def _check_launch(interface: Interface, check: Callable[..., object]) -> None:
    """Call the check once, if the current command launches this entity remotely and has converted all its options."""
    context = click.get_current_context(silent=True)
    if context is None or not getattr(context.obj, "is_remote", False) or _CHECKED in context.meta:
        return
    if not _are_options_of(interface, context.params):
        return
    context.meta[_CHECKED] = True
    check(**_native_inputs(interface, context.params))


def _are_options_of(interface: Interface, options: Mapping[str, Any]) -> bool:
    """Whether these are all inputs; not where a launch plan has the values of required ones."""
    return options.keys() - {_INPUTS_FILE} == interface.inputs.keys() and all(
        options[name] is not None or default is not None or type(None) in get_args(kind)
        for name, (kind, default) in interface.inputs_with_defaults.items()
    )


def _native_inputs(interface: Interface, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as Python values; flytekit has made literals of those that differ from their defaults."""
    context = FlyteContextManager.current_context()
    return {
        name: default if options[name] is None else TypeEngine.to_python_value(context, options[name], kind)
        for name, (kind, default) in interface.inputs_with_defaults.items()
    }


# --- checks ---


def check_generation(**options: Any) -> None:
    """Check the options of `generate`: the settings, and all that `check_generation_with` checks."""
    job = {name: value for name, value in options.items() if name not in Settings.model_fields}
    check_generation_with(agent=configured_agent(options), **job)


def configured_agent(options: Mapping[str, Any]) -> AutoCoderAgent:
    """The agent with the settings among the options of `generate`. Raises SettingsError for an impossible one."""
    settings = {name: options[name] for name in Settings.model_fields}
    return checked(AutoCoderAgent, **{name: value for name, value in settings.items() if value not in (None, "")})


def check_generation_with(  # noqa: PLR0913 - the arguments of `generate_with`
    *,
    agent: AutoCoderAgent,
    prompt: str,
    samples: dict[str, Any],
    save_to: str = "",
    register: bool = False,
    allow_failure: bool = False,
    schema: str = "",
    **job: Any,
) -> None:
    """Check model, request and destination as far as this machine knows them.

    Raises the error of the only check that failed, or NotReadyError with the messages of all.
    """
    del allow_failure
    job["tests"] = job["tests"] or None
    arguments = JobArguments(
        prompt=prompt, samples=samples, schema_text=schema or None, skip_tests=agent.skip_tests, **job
    )
    check_together(
        [
            lambda: check_model_here(agent.settings),
            lambda: check_job(arguments),
            lambda: check_reaches_beyond_pod(save_to),
        ]
    )
    if register and (agent.image_config is None or agent.image_config.registry is None):
        warn_of_registry()


def check_model_here(settings: Settings) -> None:
    """Check the model's settings. A provider that is not installed here is logged: the pods' image may have it.

    Raises UnknownModelError for a bare name, SettingsError.
    """
    try:
        check_model_settings(settings)
    except UnknownModelError as error:
        if "/" not in settings.model:
            raise
        logger.warning("launched all the same, in case that the image of the pods has this provider: %s", error)
