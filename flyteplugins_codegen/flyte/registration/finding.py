"""Reading back what has been registered: one solution by its id, or all of a place."""

from __future__ import annotations

import datetime as dt

from flyteidl.admin.common_pb2 import NamedEntityIdentifier, ObjectGetRequest, ResourceListRequest, Sort
from flyteidl.admin.task_pb2 import Task
from flytekit.models.core.identifier import Identifier
from flytekit.remote import FlyteRemote
from google.protobuf import json_format

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.flyte.registration.record import SolutionRecord, read_record
from flyteplugins_codegen.flyte.registration.remote import Place, readable_refusals
from flyteplugins_codegen.flyte.registration.values import RegisteredSolution

# Every task comes with its whole source: a page must fit a message of gRPC.
_PAGE = 50
# The task type of a SandboxTask, which keeps most other tasks out of the answer.
_FILTERS = "eq(type,raw-container)"


def fetch_record(remote: FlyteRemote, identifier: Identifier) -> SolutionRecord:
    """The record of this id. Raises RequestError for a task that is no solution of ours."""
    return _checked(remote.client.raw.get_task(ObjectGetRequest(id=identifier.to_flyte_idl())))


def fetch_solution(remote: FlyteRemote, identifier: Identifier) -> RegisteredSolution:
    """The registered solution of this id. Raises RequestError for a task that is no solution of ours."""
    task = remote.client.raw.get_task(ObjectGetRequest(id=identifier.to_flyte_idl()))
    return _registered(remote, task, _checked(task))


def list_solutions(remote: FlyteRemote, place: Place, name: str | None, limit: int) -> list[RegisteredSolution]:
    """Registered solutions of a place, the newest first, at most `limit`. Raises RemoteError."""
    found: list[RegisteredSolution] = []
    request = ResourceListRequest(
        id=NamedEntityIdentifier(project=place.project, domain=place.domain, name=name or ""),
        limit=_PAGE,
        filters=_FILTERS,
        sort_by=Sort(key="created_at", direction=Sort.DESCENDING),
    )
    with readable_refusals(remote, "listing solutions"):
        while len(found) < limit:
            answer = remote.client.raw.list_tasks_paginated(request)
            recorded = ((task, _record(task)) for task in answer.tasks)
            found += [_registered(remote, task, record) for task, record in recorded if record is not None]
            if not answer.token:
                break
            request.token = answer.token
    return found[:limit]


def _record(task: Task) -> SolutionRecord | None:
    return read_record(json_format.MessageToDict(task.closure.compiled_task.template.custom))


def _checked(task: Task) -> SolutionRecord:
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
