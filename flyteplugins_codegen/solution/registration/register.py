"""Registers a solution as a task under the digest of its content, with its launch plan, and finds it again."""

from __future__ import annotations

import datetime as dt
import logging
from collections import OrderedDict
from importlib import metadata
from typing import Any

from flyteidl.admin.common_pb2 import NamedEntityIdentifier, ObjectGetRequest, ResourceListRequest, Sort
from flyteidl.admin.launch_plan_pb2 import LaunchPlanCreateRequest
from flyteidl.admin.task_pb2 import Task, TaskCreateRequest
from flyteidl.admin.workflow_pb2 import WorkflowCreateRequest
from flytekit.configuration import ImageConfig, SerializationSettings
from flytekit.exceptions.user import (
    FlyteEntityAlreadyExistsException,
    FlyteEntityNotExistException,
    FlyteInvalidInputException,
)
from flytekit.models.core.identifier import Identifier, ResourceType
from flytekit.remote import FlyteRemote
from flytekit.tools.translator import get_serializable
from google.protobuf import json_format

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.solution.registration.launch_plans import (
    LaunchPlanSettings,
    build_launch_plan,
    check_launch_plan,
)
from flyteplugins_codegen.solution.registration.record import (
    ProjectDomain,
    Provenance,
    RegisteredSolution,
    SolutionRecord,
    read_record,
    remote_errors,
    write_record,
)
from flyteplugins_codegen.solution.task import SandboxTask
from flyteplugins_codegen.store import digest

# Every task in the reply has its whole source: a page must fit into a gRPC message.
_PAGE_SIZE = 50
# The task type of a SandboxTask, which excludes most other tasks.
_FILTERS = "eq(type,raw-container)"
_VERSION_LENGTH = 32
_PLAN_SUFFIX_LENGTH = 8
_log = logging.getLogger(__name__)

# --- reading ---


def fetch_record(remote: FlyteRemote, identifier: Identifier) -> SolutionRecord:
    """The record of the task with this id. Raises RequestError for a task that is not a solution of ours."""
    return _require_record(remote.client.raw.get_task(ObjectGetRequest(id=identifier.to_flyte_idl())))


def fetch_solution(remote: FlyteRemote, identifier: Identifier) -> RegisteredSolution:
    """The registered solution with this id. Raises RequestError for a task that is not a solution of ours."""
    task = remote.client.raw.get_task(ObjectGetRequest(id=identifier.to_flyte_idl()))
    return _registered(remote, task, _require_record(task))


def list_solutions(
    remote: FlyteRemote, target: ProjectDomain, name: str | None, limit: int
) -> list[RegisteredSolution]:
    """Registered solutions of a project and domain, the newest first, at most `limit`. Raises RemoteError."""
    solutions: list[RegisteredSolution] = []
    request = ResourceListRequest(
        id=NamedEntityIdentifier(project=target.project, domain=target.domain, name=name or ""),
        limit=_PAGE_SIZE,
        filters=_FILTERS,
        sort_by=Sort(key="created_at", direction=Sort.DESCENDING),
    )
    with remote_errors(remote, "listing solutions"):
        while len(solutions) < limit:
            reply = remote.client.raw.list_tasks_paginated(request)
            recorded = ((task, _record(task)) for task in reply.tasks)
            solutions += [_registered(remote, task, record) for task, record in recorded if record is not None]
            if not reply.token:
                break
            request.token = reply.token
    return solutions[:limit]


def _record(task: Task) -> SolutionRecord | None:
    return read_record(json_format.MessageToDict(task.closure.compiled_task.template.custom))


def _require_record(task: Task) -> SolutionRecord:
    record = _record(task)
    if record is None:
        raise RequestError(
            f"task {task.id.name!r}, version {task.id.version!r}, is no solution that register() left there; "
            "find_solutions() lists those"
        )
    return record


def _registered(remote: FlyteRemote, task: Task, record: SolutionRecord) -> RegisteredSolution:
    identifier = Identifier.from_flyte_idl(task.id)
    return RegisteredSolution(
        project=identifier.project,
        domain=identifier.domain,
        name=identifier.name,
        version=identifier.version,
        console_url=remote.generate_console_url(identifier),
        provenance=record.provenance,
        created_at=task.closure.created_at.ToDatetime(dt.timezone.utc),
    )


# --- registering ---


class Registrant(Value):
    """What is registered with the task: its source, and where it comes from."""

    source: str
    provenance: Provenance


def register_task(
    task: SandboxTask,
    registrant: Registrant,
    remote: FlyteRemote,
    target: ProjectDomain,
    version: str | None = None,
    launch_plan: LaunchPlanSettings | None = None,
) -> RegisteredSolution:
    """Register the task, and the launch plan if there is one. A second call with the same solution changes nothing.

    Raises:
        RemoteError: the control plane could not be reached, or refused.
        RequestError: `version` is taken by another solution, or the launch plan does not fit the task.
    """
    if launch_plan is not None:
        check_launch_plan(launch_plan, task)
    spec, content = _specify(task, target)
    version = version or content[:_VERSION_LENGTH]
    record = SolutionRecord(digest=content, provenance=registrant.provenance, source=registrant.source)
    with remote_errors(remote, f"registering {task.name!r}"):
        identifier = Identifier(ResourceType.TASK, target.project, target.domain, task.name, version)
        _create_task(remote, TaskCreateRequest(id=identifier.to_flyte_idl(), spec=write_record(spec, record)), content)
        plan = _create_launch_plan(remote, task, launch_plan, _settings(target, version)) if launch_plan else None
        registered = fetch_solution(remote, identifier)
    _warn_of_image(task)
    return registered.model_copy(update={"launch_plan": plan})


def package_version() -> str:
    """The version of this package, for the record."""
    return metadata.version("flytekitplugins-codegen")


def _settings(target: ProjectDomain, version: str) -> SerializationSettings:
    # The task names its own image; no default image is looked up.
    return SerializationSettings(ImageConfig(), project=target.project, domain=target.domain, version=version)


def _specify(task: SandboxTask, target: ProjectDomain) -> tuple[Any, str]:
    """The task's spec for the control plane, and the digest of everything in it that affects a run.

    The digest leaves out id and flytekit's version, because neither changes what the solution does.
    """
    spec = get_serializable(OrderedDict(), _settings(target, "none"), task).to_flyte_idl()
    template = type(spec.template)()
    template.CopyFrom(spec.template)
    template.ClearField("id")
    template.metadata.ClearField("runtime")
    return spec, digest(task.bundle, json_format.MessageToDict(template))


def _create_task(remote: FlyteRemote, request: TaskCreateRequest, content: str) -> None:
    try:
        remote.client.raw.create_task(request)
    except (FlyteEntityAlreadyExistsException, FlyteInvalidInputException):
        # The same solution from another user or prompt is another template, and for one that was registered at the
        # same time the control plane reports only that the id is taken: compare the digests of the solutions.
        if not _is_registered(remote, request, content):
            raise


def _is_registered(remote: FlyteRemote, request: TaskCreateRequest, content: str) -> bool:
    identifier = Identifier.from_flyte_idl(request.id)
    try:
        present = fetch_record(remote, identifier)
    except FlyteEntityNotExistException:
        return False
    if present.digest != content:
        raise RequestError(
            f"version {identifier.version!r} of {identifier.name!r} is already registered, and is another solution; "
            "choose another version, or leave it out: then it is the digest of the solution"
        )
    return True


def _create_launch_plan(
    remote: FlyteRemote, task: SandboxTask, settings: LaunchPlanSettings, serialization: SerializationSettings
) -> str:
    """Register the task's workflow and its launch plan. Returns `name@version` of the plan."""
    workflow, plan = build_launch_plan(settings, task, remote, serialization)
    workflow_id = Identifier(*_identity(ResourceType.WORKFLOW, serialization), task.name, serialization.version)
    spec = plan.spec.to_flyte_idl()
    suffix = digest(json_format.MessageToDict(spec))[:_PLAN_SUFFIX_LENGTH]
    plan_id = Identifier(
        *_identity(ResourceType.LAUNCH_PLAN, serialization), plan.id.name, f"{serialization.version}-{suffix}"
    )
    raw = remote.client.raw
    _create(raw.create_workflow, WorkflowCreateRequest(id=workflow_id.to_flyte_idl(), spec=workflow.to_flyte_idl()))
    _create(raw.create_launch_plan, LaunchPlanCreateRequest(id=plan_id.to_flyte_idl(), spec=spec))
    if settings.is_active:
        remote.activate_launchplan(plan_id)
    return f"{plan_id.name}@{plan_id.version}"


def _identity(kind: int, serialization: SerializationSettings) -> tuple[int, str, str]:
    return kind, serialization.project, serialization.domain


def _create(method: Any, request: Any) -> None:
    try:
        method(request)
    except FlyteEntityAlreadyExistsException:
        _log.debug("%s is already registered", request.id.name)


def _warn_of_image(task: SandboxTask) -> None:
    image = task.bundle.image
    if "/" not in image:
        _log.warning(
            "image %s names no registry, so that no cluster can pull it: generate with "
            "image_config=ImageConfig(registry=...), and it is built and pushed when it is registered",
            image,
        )
