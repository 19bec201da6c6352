"""What all our Flyte entities share: errors as one message, checked settings, where they run, containers of pods."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

from flytekit.core.context_manager import FlyteContextManager
from flytekit.exceptions.system import FlyteDownloadDataException, FlyteUploadDataException
from flytekit.exceptions.user import FlyteRecoverableException
from flytekit.loggers import logger as flytekit_logger
from flytekit.models.task import Container
from flytekit.models.task import Resources as ContainerResources
from pydantic import BaseModel, ValidationError

from flyteplugins_codegen.errors import CodegenError, RequestError, SettingsError

logger = logging.getLogger("flyteplugins_codegen.flyte")

# A cluster replaces `gpu` by its own resource name.
_RESOURCE_NAMES: Final = {
    ContainerResources.ResourceName.CPU: "cpu",
    ContainerResources.ResourceName.GPU: "gpu",
    ContainerResources.ResourceName.MEMORY: "memory",
    ContainerResources.ResourceName.EPHEMERAL_STORAGE: "ephemeral-storage",
}

P = ParamSpec("P")
T = TypeVar("T")
ModelT = TypeVar("ModelT", bound=BaseModel)


def readable_errors(function: Callable[P, T]) -> Callable[P, T]:
    """Decorates a function: our own errors leave it without traceback and causes, and say whether a retry may help.

    Their messages say who, what and the remedy. The traceback goes to flytekit's log at DEBUG, which
    `FLYTE_SDK_LOGGING_LEVEL=10` shows. Errors that are not ours, which are defects, pass unchanged.

    A cluster retries a task only after FlyteRecoverableException: in a pod, transient errors are raised as one, and so
    are flytekit's when the object store failed. Every other error ends the task at its first try.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        # `pyflyte run` prints tracebacks with rich, which leaves out the frames that hold this name.
        _rich_traceback_omit = True
        try:
            return function(*args, **kwargs)
        except CodegenError as error:
            flytekit_logger.debug("%s", error, exc_info=True)
            if error.is_transient and not runs_locally():
                raise FlyteRecoverableException(f"{type(error).__name__}: {error}") from None
            raise error.with_traceback(None) from None
        except (FlyteDownloadDataException, FlyteUploadDataException) as error:
            if runs_locally():
                raise
            if isinstance(error.__context__, PermissionError):  # the store's HTTP 403
                raise RequestError(f"{error}\nGrant this access to the service account of the execution.") from None
            raise FlyteRecoverableException(str(error)) from error

    return call


def checked(model: type[ModelT], /, **fields: Any) -> ModelT:
    """The value with these fields, from a task's inputs. Raises SettingsError for the first invalid one."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        where = ".".join(map(str, wrong["loc"]))
        raise SettingsError(f"{where}={wrong['input']!r}: {wrong['msg']}") from error


def runs_locally() -> bool:
    """Whether this is flytekit's local execution, not a pod."""
    state = FlyteContextManager.current_context().execution_state
    # Outside any execution the state has no mode.
    return state is None or state.mode is None or state.is_local_execution()


def render_container(container: Container, name: str) -> dict[str, Any]:
    """The container of a task for a pod's `spec`, without the package `kubernetes`, whose import takes half a second.

    A failed task shows the end of what its main container wrote, as one that is registered as a container does.
    """
    resources = container.resources
    return {
        "name": name,
        "image": container.image,
        "command": list(container.command or ()),
        "args": list(container.args or ()),
        "env": [{"name": key, "value": value} for key, value in container.env.items()],
        "resources": {
            kind: {_RESOURCE_NAMES[entry.name]: entry.value for entry in entries}
            for kind, entries in (("requests", resources.requests), ("limits", resources.limits))
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
