"""Launch plans of solutions: schedule, notifications and inputs for a workflow of one task."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from flyteidl.admin.common_pb2 import NamedEntityIdentifier
from flyteidl.admin.launch_plan_pb2 import ActiveLaunchPlanRequest, LaunchPlanCreateRequest
from flyteidl.admin.launch_plan_pb2 import LaunchPlan as LaunchPlanMessage
from flytekit import CronSchedule, FixedRate, LaunchPlan, Workflow
from flytekit.configuration import SerializationSettings
from flytekit.core.notification import Notification
from flytekit.exceptions.user import FlyteEntityAlreadyExistsException, FlyteEntityNotExistException
from flytekit.models.core.identifier import Identifier, ResourceType
from flytekit.remote import FlyteRemote
from flytekit.tools.translator import get_serializable

from flyteplugins_codegen.errors import InterfaceError, RequestError
from flyteplugins_codegen.solution.registration.record import ProjectDomain, remote_errors
from flyteplugins_codegen.solution.task import PYTHON_TYPES, SandboxTask

_FILES = {"file", "directory"}
_NAMES = Lock()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlanSettings:
    """How a registered solution is launched: `result.register(launch_plan=LaunchPlanSettings(schedule=...))`.

    `name` defaults to the task's name; a new version of an active plan takes over its schedule. `schedule` and
    `notifications` are flytekit's. `inputs` are defaults by name; a file is an address in the object store, or a path
    on this machine, which is uploaded. The samples are not used as defaults, because a schedule is for other data.
    `is_active` starts the schedule at once. `overwrite_cache` is flytekit's; a registered solution is not cached.
    """

    name: str | None = None
    schedule: CronSchedule | FixedRate | None = None
    notifications: Sequence[Notification] = ()
    inputs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    overwrite_cache: bool | None = None
    is_active: bool = True


def check_launch_plan(settings: LaunchPlanSettings, task: SandboxTask) -> None:
    """Raise InterfaceError or RequestError where the inputs or the schedule do not fit the task."""
    declared = task.bundle.inputs
    unknown = next((name for name in settings.inputs if name not in declared), None)
    if unknown is not None:
        raise InterfaceError(f"launch plan: there is no input {unknown!r}; declared: {', '.join(declared) or 'none'}")
    if settings.schedule is None:
        return
    free = next((name for name in declared if name not in settings.inputs), None)
    if free is not None:
        raise RequestError(
            f"launch plan: nobody is there to give input {free!r} to a scheduled run; "
            f"pass it as LaunchPlanSettings(inputs={{{free!r}: ...}}), a file as its address"
        )
    kickoff = settings.schedule.kickoff_time_input_arg
    if kickoff:
        raise RequestError(
            f"launch plan: kickoff_time_input_arg={kickoff!r} needs an input of type datetime, which a solution cannot "
            "have; schedule a workflow of your own that takes the time and calls the task"
        )


def build_launch_plan(
    settings: LaunchPlanSettings, task: SandboxTask, remote: FlyteRemote, serialization: SerializationSettings
) -> tuple[Any, Any]:
    """The specs of a workflow with the task as its only node, and of its launch plan, for the control plane.

    A launch plan starts a workflow, never a task, so the task gets a workflow of the same name. Local files among the
    inputs are uploaded.
    """
    workflow = _workflow_of(task)
    name = settings.name or task.name
    with remote.remote_context():
        inputs = {key: _default(value, task, key, remote, serialization) for key, value in settings.inputs.items()}
        with _released_name(name):
            plan = LaunchPlan.create(
                name=name,
                workflow=workflow,
                default_inputs=inputs,
                schedule=settings.schedule,
                notifications=list(settings.notifications),
                overwrite_cache=settings.overwrite_cache,
            )
    entities: OrderedDict[Any, Any] = OrderedDict()
    specified = get_serializable(entities, serialization, plan)
    return entities[workflow], specified


@contextlib.contextmanager
def _released_name(name: str) -> Iterator[None]:
    """Context in which flytekit accepts a plan of this name: it refuses a second one. The user's own plan is restored.

    One thread at a time, because flytekit has one table of names for the process.
    """
    with _NAMES:
        existing = LaunchPlan.CACHE.pop(name, None)
        try:
            yield
        finally:
            LaunchPlan.CACHE.pop(name, None)
            if existing is not None:
                LaunchPlan.CACHE[name] = existing


def _workflow_of(task: SandboxTask) -> Workflow:
    workflow = Workflow(name=task.name)
    inputs = {name: workflow.add_workflow_input(name, PYTHON_TYPES[kind]) for name, kind in task.bundle.inputs.items()}
    node = workflow.add_entity(task, **inputs)
    for name in task.bundle.outputs:
        workflow.add_workflow_output(name, node.outputs[name])
    return workflow


def _default(
    value: Any, task: SandboxTask, name: str, remote: FlyteRemote, serialization: SerializationSettings
) -> Any:
    kind = task.bundle.inputs[name]
    if kind not in _FILES or not isinstance(value, str | Path):
        return value
    if "://" in str(value):
        return PYTHON_TYPES[kind](str(value))
    path = Path(value)
    if kind == "directory" or not path.is_file():
        raise RequestError(
            f"launch plan: input {name!r}: {str(value)!r} is no file on this machine; "
            "give its address in the object store, such as s3://bucket/key"
        )
    _, address = remote.upload_file(path, serialization.project, serialization.domain)
    return PYTHON_TYPES[kind](address)


# --- moving a plan to the next version of a solution ---


def active_plan(remote: FlyteRemote, target: ProjectDomain, name: str) -> LaunchPlanMessage | None:
    """The active launch plan of this name, None where none is active. Raises RemoteError."""
    identifier = NamedEntityIdentifier(project=target.project, domain=target.domain, name=name)
    with remote_errors(remote, f"looking up launch plan {name!r}"):
        try:
            return remote.client.raw.get_active_launch_plan(ActiveLaunchPlanRequest(id=identifier))
        except FlyteEntityNotExistException:
            return None


def move_plan(remote: FlyteRemote, plan: LaunchPlanMessage, workflow: Identifier) -> str:
    """Make the active launch plan start another version of its workflow. Returns `name@version` of the plan.

    Schedule, notifications, inputs and everything else are copied from the plan. A second call changes nothing.

    Raises RemoteError, and RequestError where the plan starts another workflow.
    """
    if plan.spec.workflow_id.name != workflow.name:
        raise RequestError(
            f"launch plan {plan.id.name!r} starts {plan.spec.workflow_id.name!r}, not {workflow.name!r}; "
            "name a launch plan that register() made for the solution"
        )
    spec = type(plan.spec)()
    spec.CopyFrom(plan.spec)
    spec.workflow_id.CopyFrom(workflow.to_flyte_idl())
    moved = Identifier(ResourceType.LAUNCH_PLAN, workflow.project, workflow.domain, plan.id.name, workflow.version)
    with remote_errors(remote, f"moving launch plan {plan.id.name!r}"):
        with contextlib.suppress(FlyteEntityAlreadyExistsException):
            remote.client.raw.create_launch_plan(LaunchPlanCreateRequest(id=moved.to_flyte_idl(), spec=spec))
        remote.activate_launchplan(moved)
    return f"{moved.name}@{moved.version}"
