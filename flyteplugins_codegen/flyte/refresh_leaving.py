"""Where a renewed solution goes: into the control plane that the old one is in, or into its folder."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from pathlib import Path

from flytekit.core.context_manager import FlyteContextManager
from flytekit.models.core.identifier import Identifier, ResourceType

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.flyte.imaging import show_image
from flyteplugins_codegen.flyte.refresh_state import RefreshOrder, fetched, version_of
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
    if registered.built is not None:
        show_image(registered.built)
    if order.save_to:
        _save(result, order)
    if plan is None:
        return Left(solution=registered.id)
    workflow = Identifier(ResourceType.WORKFLOW, project, domain, registered.name, registered.version)
    return Left(solution=registered.id, launch_plan=move_plan(remote, plan, workflow))


def _save(result: CodeGenEvalResult, order: RefreshOrder) -> str:
    address = order.save_to or order.solution
    if "://" in address:
        _save_there(result, address.rstrip("/"), replaces=not order.save_to)
        return address
    return str(_save_here(result, Path(address).absolute()))


def _save_there(result: CodeGenEvalResult, address: str, *, replaces: bool) -> None:
    """Into an object store, which renames nothing: the old one is copied beside before the new one is written."""
    access = FlyteContextManager.current_context().file_access
    with tempfile.TemporaryDirectory() as folder:
        if replaces:
            with fetched(address) as earlier:
                content = digest((earlier / "result.json").read_bytes())[:12]
                access.put_data(str(earlier), f"{address}-{content}", is_multipart=True)
        access.put_data(str(result.save(Path(folder) / "solution")), address, is_multipart=True)


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
