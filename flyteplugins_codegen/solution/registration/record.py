"""The control plane, its errors as ours, and the record that a registered task keeps of its solution."""

from __future__ import annotations

import contextlib
import datetime as dt
import getpass
import os
from collections.abc import Iterator, Mapping
from typing import Any

from flyteidl.admin import description_entity_pb2
from flyteidl.admin.task_pb2 import TaskSpec
from flytekit.clients.grpc_utils.deadline_interceptor import scoped_grpc_deadline
from flytekit.configuration import Config
from flytekit.configuration.file import get_config_file
from flytekit.exceptions.base import FlyteException
from flytekit.exceptions.system import FlyteSystemUnavailableException
from flytekit.exceptions.user import (
    FlyteAuthenticationException,
    FlyteEntityNotExistException,
    FlyteTimeout,
)
from flytekit.remote import FlyteRemote

from flyteplugins_codegen.errors import RemoteError, RequestError
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.settings import BuiltImage

# The defaults of `pyflyte register` and `pyflyte run --remote`.
_PROJECT, _DOMAIN = "flytesnacks", "development"
_CALL_TIMEOUT_S = 60.0


class ProjectDomain(Value):
    """A project and a domain of a control plane."""

    project: str
    domain: str


def open_remote(remote: FlyteRemote | None) -> FlyteRemote:
    """The given remote, else that of flytekit's configuration. Raises RemoteError where none is configured."""
    if remote is not None:
        return remote
    if get_config_file(None) is None and not os.environ.get("FLYTE_PLATFORM_URL"):
        raise RemoteError(
            "no Flyte control plane is configured: pass remote=FlyteRemote(...), write its endpoint to "
            "~/.flyte/config.yaml (`flytectl config init` does), or set FLYTE_PLATFORM_URL"
        )
    return FlyteRemote(Config.auto(), interactive_mode_enabled=False)


def choose_project_domain(remote: FlyteRemote, project: str | None, domain: str | None) -> ProjectDomain:
    """The arguments, else the remote's own project and domain, those of the current execution, or pyflyte's default."""
    environment = os.environ.get
    return ProjectDomain(
        project=project or remote.default_project or environment("FLYTE_INTERNAL_EXECUTION_PROJECT") or _PROJECT,
        domain=domain or remote.default_domain or environment("FLYTE_INTERNAL_EXECUTION_DOMAIN") or _DOMAIN,
    )


def current_user() -> str:
    """The current execution, from which its user can be looked up; else the user of this machine."""
    names = [os.environ.get(f"FLYTE_INTERNAL_EXECUTION_{part}", "") for part in ("PROJECT", "DOMAIN", "ID")]
    if all(names):
        return f"execution {':'.join(names)}"
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


@contextlib.contextmanager
def remote_errors(remote: FlyteRemote, task: str) -> Iterator[None]:
    """Context that raises the control plane's errors as RemoteError, with the remedy. `task` is what was tried."""
    endpoint = remote.config.platform.endpoint
    try:
        with scoped_grpc_deadline(_CALL_TIMEOUT_S):
            yield
    except FlyteException as error:
        is_transient = isinstance(error, (FlyteSystemUnavailableException, FlyteTimeout))
        raise RemoteError(f"{task}: {endpoint} {_explain(error)}", is_transient=is_transient) from error
    except RequestError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        # flytekit raises these for a missing certificate, a failed login, a refused upload.
        raise RemoteError(f"{task}: {endpoint} could not be asked: {error}") from error


def _explain(error: FlyteException) -> str:
    message = refusal_text(error)
    if isinstance(error, FlyteSystemUnavailableException):
        return f"cannot be reached ({message}); check the endpoint, `insecure` of its configuration, and the network"
    if isinstance(error, FlyteTimeout):
        return f"did not answer within {_CALL_TIMEOUT_S:.0f} s; check the endpoint and the network"
    if isinstance(error, FlyteAuthenticationException):
        return f"does not know you ({message}); log in, or check authType and credentials of the configuration"
    if isinstance(error, FlyteEntityNotExistException):
        return f"has no such thing: {message}; find_solutions(remote) lists what is there"
    if "failed to validate that project" in message or "is unrecognized by system" in message:
        return f"refuses the place: {message}; pass project and domain that are there, or make the project first"
    return f"refused: {message}"


def refusal_text(error: BaseException) -> str:
    """The control plane's message in one line."""
    details = getattr(error.__cause__, "details", None)
    message = details() if callable(details) else str(error)
    return " ".join(str(message).split()) or type(error).__name__


class Provenance(Value):
    """Where a solution comes from. `registered_by` is a user's name, in a pod the execution.

    It holds no sample, conversation or secret: everyone who may read the task may read it.
    """

    prompt: str
    model: str
    registered_by: str
    attempts: int = 1
    model_calls: int = 0
    cost_usd: float | None = None
    package_version: str = ""


class RegisteredSolution(Value):
    """A solution and its id in the control plane. `created_at` is the server's time of its first registration.

    `launch_plan` is `name@version` of the plan that was registered with it, if any; `built` is the image that was built
    for it, with the builder's output.
    """

    project: str
    domain: str
    name: str
    version: str
    console_url: str
    provenance: Provenance
    created_at: dt.datetime | None = None
    launch_plan: str | None = None
    built: BuiltImage | None = None

    @property
    def id(self) -> str:
        """`project:domain:name:version`, as `load_solution` takes it."""
        return f"{self.project}:{self.domain}:{self.name}:{self.version}"

    def __str__(self) -> str:
        """The id and the console's address."""
        return f"{self.id} ({self.console_url})"


# --- the record in a task's template ---

_KEY = "flyteplugins_codegen"
# A control plane accepts messages of 4 MiB by default, and its reply to a list request holds many tasks.
_MAX_BYTES = 2**20
_MAX_SUMMARY_CHARS = 200


class SolutionRecord(Value):
    """The record of a task. `digest` is of solution, environment and interface; `source` is the result as JSON."""

    digest: str
    provenance: Provenance
    source: str


def write_record(spec: TaskSpec, record: SolutionRecord) -> TaskSpec:
    """The task's spec with the record, and with the prompt as description for the console.

    Raises RequestError for a record that is too large for a template.
    """
    size_bytes = len(record.model_dump_json().encode())
    if size_bytes > _MAX_BYTES:
        raise RequestError(
            f"the source of the solution takes {size_bytes:,} bytes, and a registered task holds at most "
            f"{_MAX_BYTES:,}; shorten the prompt, or what the solution has as constants"
        )
    recorded = TaskSpec()
    recorded.CopyFrom(spec)
    recorded.template.custom.update({_KEY: record.model_dump(mode="json")})
    recorded.description.CopyFrom(_description(record.provenance.prompt))
    return recorded


def read_record(custom: Mapping[str, Any] | None) -> SolutionRecord | None:
    """The record in a registered task's template; None for a task that is not a solution of ours."""
    record = (custom or {}).get(_KEY)
    try:
        return None if record is None else SolutionRecord.model_validate(record)
    except ValueError:
        # Written by a later version of this package, or by other software under the same key.
        return None


def _description(prompt: str) -> description_entity_pb2.DescriptionEntity:
    line = " ".join(prompt.split())
    short = line if len(line) <= _MAX_SUMMARY_CHARS else f"{line[: _MAX_SUMMARY_CHARS - 1]}…"
    return description_entity_pb2.DescriptionEntity(
        short_description=short, long_description=description_entity_pb2.Description(value=prompt)
    )
