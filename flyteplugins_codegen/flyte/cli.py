"""Tasks and workflows under `pyflyte run`: help without repetition, errors of input in one line, short folder names.

flytekit converts inputs before any of our code runs, and prints conversion errors with the frames of its event loop.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from flytekit import workflow
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
    """Decorates a task or workflow: wrong input raises one RequestError that names the option.

    Changes nothing in a pod, where inputs arrive converted.
    """
    # `--help` describes the arguments beside the options.
    entity.__doc__ = _ARGUMENTS.sub("", entity.__doc__ or "")
    entity.local_execute = _checking(entity, entity.local_execute)
    return entity


def with_defaults(task: Any, name: str = "") -> Any:
    """A workflow whose only node is this task, with the task's inputs, defaults, outputs and help.

    A control plane that launches a task wants a value for every input, because only launch plans have defaults. Every
    workflow has a launch plan. The workflow is named like the task, or by `name` in the task's module.
    """
    function = task.task_function

    def launch(**inputs: Any) -> Any:
        return task(**inputs)

    # What flytekit reads: the signature's annotations may be text that only the task's module can resolve.
    launch.__name__, launch.__module__ = name or function.__name__, function.__module__
    launch.__doc__ = function.__doc__
    launch.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # `inspect.signature` returns it
    launch.__annotations__ = get_type_hints(function, include_extras=True)
    return launchable(workflow(readable_errors(launch)))


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
    """The value as flytekit converts it; one at a time, because an error for all inputs names none of them."""
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
    """Flytekit's message, as far as it is about the value."""
    message = _FAILED_ARGUMENT.sub("", " ".join(str(error).split()))
    no_file = _NO_FILE.search(message)
    if no_file:
        return f"there is no {no_file[2]} {no_file[1]!r}"
    return message if len(message) <= _MAX_CHARS else f"{message[:_MAX_CHARS]}..."


@contextlib.contextmanager
def short_working_directory() -> Iterator[None]:
    """Give the tasks that are called in this context a working directory with a short name, in local execution.

    There the name of each task's directory is that of its caller's directory and eight characters, so a recursive
    dynamic workflow reaches the system's limit of 255 characters after some thirty calls.
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
