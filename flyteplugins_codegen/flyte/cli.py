"""Entities as a person launches them: `pyflyte run` with help that says each thing once, and wrong input in one line.

flytekit converts what was typed before any of our code runs, and prints its own trouble with frames of its event loop.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

from flytekit.core.context_manager import ExecutionParameters, FlyteContext, FlyteContextManager
from flytekit.core.promise import Promise, translate_inputs_to_literals

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.solution.flytekit import readable_errors, runs_locally

EntityT = TypeVar("EntityT", bound=Any)

_ARGUMENTS = re.compile(r"\n\s*Args:\n.*", re.DOTALL)
_FAILED_ARGUMENT = re.compile(r"\AFailed argument '\w+':\s*")
_NO_FILE = re.compile(r"Error converting (.+) because it's not a (file|directory)\.")
_MAX_CHARS = 300


def launchable(entity: EntityT) -> EntityT:
    """Decorates a task or workflow: what was typed wrong leaves it as one RequestError that names the option.

    In a pod nothing is different: what arrives there has been converted.
    """
    # The options say what the arguments are.
    entity.__doc__ = _ARGUMENTS.sub("", entity.__doc__ or "")
    entity.local_execute = _checking(entity, entity.local_execute)
    return entity


def _checking(entity: Any, execute: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(execute)
    @readable_errors
    def local_execute(ctx: FlyteContext, **inputs: Any) -> Any:
        _rich_traceback_omit = True
        _check_presence(entity, inputs)
        return execute(ctx, **{name: _converted(entity, ctx, name, value) for name, value in inputs.items()})

    return local_execute


def _check_presence(entity: Any, inputs: Mapping[str, Any]) -> None:
    for name, (kind, default) in entity.python_interface.inputs_with_defaults.items():
        if name not in inputs and default is None and type(None) not in get_args(kind):
            raise RequestError(
                f"--{name} is missing: {entity.interface.inputs[name].description or kind}; "
                "--help shows all options, --inputs-file reads them from YAML"
            )


def _converted(entity: Any, ctx: FlyteContext, name: str, value: Any) -> Promise:
    """The value as flytekit would make it of all inputs at once, where it is not told which one is at fault."""
    try:
        literals = translate_inputs_to_literals(
            ctx,
            incoming_values={name: value},
            flyte_interface_types=entity.interface.inputs,
            native_types=entity.python_interface.inputs,
        )
    except Exception as error:
        raise RequestError(f"--{name}: {_reason(error)}; --help shows what it takes") from error
    return Promise(name, literals[name])


def _reason(error: Exception) -> str:
    """What is wrong with a value, in flytekit's words as far as they are about the value."""
    said = _FAILED_ARGUMENT.sub("", " ".join(str(error).split()))
    no_file = _NO_FILE.search(said)
    if no_file:
        return f"there is no {no_file[2]} {no_file[1]!r}"
    return said if len(said) <= _MAX_CHARS else f"{said[:_MAX_CHARS]}..."


# Keeping flytekit's local execution of a long recursion within what a file name may hold.


@contextlib.contextmanager
def short_working_directory() -> Iterator[None]:
    """Give the tasks called in here a working directory with a short name, in local execution.

    There each task's directory is named after its caller's and eight characters more, so that a dynamic that calls
    itself meets the system's limit of 255 characters after some thirty calls.
    """
    context = FlyteContextManager.current_context()
    state = context.execution_state
    if not runs_locally() or state is None or state.user_space_params is None:
        yield
        return
    params = ExecutionParameters.new_builder(state.user_space_params)
    params.working_dir = str(Path(context.file_access.local_sandbox_dir) / "nested")
    nested = context.with_execution_state(state.with_params(user_space_params=params.build()))
    with FlyteContextManager.with_context(nested):
        yield
