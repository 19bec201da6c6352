"""Where a renewed solution goes: into the control plane that the old one is in, or into its folder."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

from flytekit.models.core.identifier import Identifier, ResourceType

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.flyte.caching import runs_locally
from flyteplugins_codegen.flyte.leaving import upload
from flyteplugins_codegen.flyte.refresh_state import RefreshOrder, version_of
from flyteplugins_codegen.flyte.registration.launch_plan import LaunchPlanSettings
from flyteplugins_codegen.flyte.registration.moving import active_plan, move_plan
from flyteplugins_codegen.flyte.registration.remote import open_remote, place_of
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.result import CodeGenEvalResult
from flyteplugins_codegen.store import digest


class Left(Value):
    """Where the solution is now, and the launch plan that starts it, if one was moved."""

    solution: str
    launch_plan: str | None = None


def leave(result: CodeGenEvalResult, order: RefreshOrder) -> Left:
    """Register the new version and move the launch plan, or put it in the folder of the old one, which stays beside.

    Raises RemoteError, RequestError, OSError.
    """
    if order.is_registered:
        return _register(result, order)
    return Left(solution=_save(result, order))


def _register(result: CodeGenEvalResult, order: RefreshOrder) -> Left:
    project, domain, name, _ = order.solution.split(":")
    remote = open_remote(None)
    place = place_of(remote, project, domain)
    plan = active_plan(remote, place, order.launch_plan or name)
    if plan is None and order.launch_plan:
        raise RequestError(
            f"launch plan {order.launch_plan!r} is not active in {project}/{domain}; nothing was changed"
        )
    # An inactive plan, because the workflow that a plan starts is registered with one.
    settings = LaunchPlanSettings(is_active=False) if plan is not None else None
    registered = result.register(remote, project, domain, version_of(result), settings)
    if order.save_to:
        _save(result, order)
    if plan is None:
        return Left(solution=registered.id)
    workflow = Identifier(ResourceType.WORKFLOW, project, domain, registered.name, registered.version)
    return Left(solution=registered.id, launch_plan=move_plan(remote, plan, workflow))


def _save(result: CodeGenEvalResult, order: RefreshOrder) -> str:
    address = order.save_to or order.solution
    if runs_locally() and "://" not in address:
        return str(_save_here(result, Path(address).absolute()))
    return str(upload(result.save(Path("/tmp") / f"solution-{uuid.uuid4().hex}"), address).remote_source or address)  # noqa: S108 - a pod's own


def _save_here(result: CodeGenEvalResult, folder: Path) -> Path:
    """Written aside, then renamed; what was there stays beside it, under its digest."""
    aside = folder.with_name(f".{folder.name}-{uuid.uuid4().hex[:8]}")
    try:
        result.save(aside)
        if folder.exists():
            earlier = folder.with_name(f"{folder.name}-{digest((folder / 'result.json').read_bytes())[:12]}")
            if earlier.exists():
                shutil.rmtree(earlier)
            folder.rename(earlier)
        aside.rename(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return folder
