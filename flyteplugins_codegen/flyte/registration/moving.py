"""Moving a launch plan from one version of a solution to the next, with all that it says."""

from __future__ import annotations

import contextlib

from flyteidl.admin.common_pb2 import NamedEntityIdentifier
from flyteidl.admin.launch_plan_pb2 import ActiveLaunchPlanRequest, LaunchPlan, LaunchPlanCreateRequest
from flytekit.exceptions.user import FlyteEntityAlreadyExistsException, FlyteEntityNotExistException
from flytekit.models.core.identifier import Identifier, ResourceType
from flytekit.remote import FlyteRemote

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.flyte.registration.remote import Place, readable_refusals


def active_plan(remote: FlyteRemote, place: Place, name: str) -> LaunchPlan | None:
    """The active launch plan of this name; None where none is active. Raises RemoteError."""
    named = NamedEntityIdentifier(project=place.project, domain=place.domain, name=name)
    with readable_refusals(remote, f"looking up launch plan {name!r}"):
        try:
            return remote.client.raw.get_active_launch_plan(ActiveLaunchPlanRequest(id=named))
        except FlyteEntityNotExistException:
            return None


def move_plan(remote: FlyteRemote, plan: LaunchPlan, workflow: Identifier) -> str:
    """Have the active launch plan start another version of its workflow; returns `name@version` of the plan.

    Schedule, notifications, inputs and all else stay as they are, for the plan's own text is taken over. The same
    again changes nothing.

    Raises RemoteError, and RequestError where the plan is of another workflow.
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
    with readable_refusals(remote, f"moving launch plan {plan.id.name!r}"):
        with contextlib.suppress(FlyteEntityAlreadyExistsException):
            remote.client.raw.create_launch_plan(LaunchPlanCreateRequest(id=moved.to_flyte_idl(), spec=spec))
        remote.activate_launchplan(moved)
    return f"{moved.name}@{moved.version}"
