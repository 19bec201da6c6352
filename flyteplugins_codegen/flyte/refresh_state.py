"""What travels between the tasks of a refresh, and the solution that it is about."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flytekit.core.context_manager import FlyteContextManager
from flytekit.exceptions.base import FlyteException
from flytekit.models.core.identifier import Identifier, ResourceType
from flytekit.types.file import FlyteFile
from pydantic import Field, JsonValue

from flyteplugins_codegen.errors import NotSuccessfulError, RequestError
from flyteplugins_codegen.flyte.tasks import show_image
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.job import Candidate, CodePlan
from flyteplugins_codegen.models.refresh import Earlier, Refresh
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.registered import find_solutions, load_solution
from flyteplugins_codegen.result import CodeGenEvalResult
from flyteplugins_codegen.solution.flytekit import checked
from flyteplugins_codegen.solution.registration.launch_plans import LaunchPlanSettings, active_plan, move_plan
from flyteplugins_codegen.solution.registration.record import choose_project_domain, open_remote
from flyteplugins_codegen.store import digest

_TEMPLATE = re.compile(r"\{kickoff(?::([^{}]*))?\}")
NOW = dt.datetime.fromtimestamp(0, dt.timezone.utc)
"""As a kickoff time: that of the call. A schedule needs an input that is a time and nothing else."""


class RefreshOrder(Value):
    """What was asked for. `solution` is an id, or the address of a folder; `changes` are settings of asking a model."""

    solution: str
    is_registered: bool
    save_to: str = ""
    launch_plan: str = ""
    approval_timeout_h: float = 24.0
    changes: dict[str, JsonValue] = Field(default_factory=dict)


class RefreshState(Value):
    """A refresh between two tasks. `key` tells by content what a model would be asked to do.

    `time` is what the addresses of the data speak of: the same for all tasks, whenever they run.
    """

    order: RefreshOrder
    refresh: Refresh
    name: str
    time: dt.datetime
    key: str = ""

    def changed(self, **fields: Any) -> RefreshState:
        """The state with fields of the refresh changed."""
        return self.model_copy(update={"refresh": self.refresh.model_copy(update=fields)})


def order_of(solution: str, project: str, domain: str, **others: Any) -> RefreshOrder:
    """The order, with an id that is whole: a name alone means the newest version now, and not another one later.

    Raises RequestError, RemoteError.
    """
    if "://" in solution or Path(solution).is_dir():
        address = solution if "://" in solution else str(Path(solution).absolute())
        return RefreshOrder(solution=address, is_registered=False, **others)
    if "/" in solution or solution.startswith("."):
        raise RequestError(f"solution: there is no folder {solution!r}; pass one that save() wrote, or a registered id")
    if ":" in solution or "@" in solution:
        whole = solution
        if "@" in solution:
            whole = _whole_id(solution, project, domain)
        return RefreshOrder(solution=whole, is_registered=True, **others)
    found = find_solutions(project=project or None, domain=domain or None, name=solution, limit=1)
    if not found:
        raise RequestError(
            f"solution: {solution!r} is neither a folder here nor the name of a registered solution; "
            "find_solutions() lists those"
        )
    return RefreshOrder(solution=found[0].id, is_registered=True, **others)


def load_result(order: RefreshOrder) -> CodeGenEvalResult:
    """The solution as it stands, with the settings that were asked for.

    Whoever registered a solution has no say in where a key of ours is sent, nor in what is written here: address, key
    and recording of a registered solution are those of the order only.

    Raises RequestError, RemoteError, SettingsError; NotSuccessfulError for the result of a run that failed.
    """
    result = load_solution(order.solution) if order.is_registered else _saved(order.solution)
    foreign: dict[str, Any] = {"api_key": None, "api_base": None, "record": None} if order.is_registered else {}
    settings = checked(Settings, **{**dict(result.settings), **foreign, **order.changes})
    result.bundle()  # raises for what cannot run
    return result.model_copy(update={"settings": settings})


def earlier_of(result: CodeGenEvalResult) -> Earlier:
    """What a refresh needs of a result. Raises NotSuccessfulError for one that cannot run."""
    if result.environment is None:
        raise NotSuccessfulError(f"{result.settings.name!r} has no environment; generate it once more")
    plan = result.plan or CodePlan(description=result.prompt, approach="")
    return Earlier(
        candidate=Candidate(plan=plan, solution=result.solution, tests=result.tests),
        environment=result.environment,
        request=result.request,
        settings=result.settings,
        profiles=result.profiles,
        schemas=result.schemas,
        constraints=result.constraints,
    )


def version_of(result: CodeGenEvalResult) -> str:
    """A version for the control plane: by what the solution is, and what it was last made for.

    Code that was found right for data that drifted is a version of its own, with other statistics to compare with.
    """
    return digest(result.bundle(), {name: each.model_dump(mode="json") for name, each in result.profiles.items()})[:32]


def time_of(kickoff: dt.datetime) -> dt.datetime:
    """The time itself where `NOW` stands for it."""
    return dt.datetime.now(dt.timezone.utc) if kickoff == NOW else kickoff


def at_time(data: Mapping[str, FlyteFile], time: dt.datetime) -> dict[str, FlyteFile]:
    """The data with the time put into their addresses, where `{kickoff}` or `{kickoff:%Y-%m-%d}` stands in them.

    Raises RequestError for a format that `strftime` does not know.
    """
    return {name: _addressed(file, time) for name, file in data.items()}


def _addressed(file: FlyteFile, time: dt.datetime) -> FlyteFile:
    address = str(file.remote_source or file.path)
    if not _TEMPLATE.search(address):
        return file
    try:
        return FlyteFile(
            _TEMPLATE.sub(lambda found: time.strftime(found[1]) if found[1] else time.isoformat(), address)
        )
    except ValueError as error:
        raise RequestError(f"data: {address!r}: {error}; write a time as {{kickoff:%Y-%m-%d}}") from error


def old_data(result: CodeGenEvalResult) -> dict[str, Path] | None:
    """The samples that the solution was made from, where they are still at hand."""
    paths: dict[str, Path] = {}
    for name, file in result.original_samples.items():
        try:
            path = Path(os.fspath(file))
        except Exception:  # noqa: BLE001 - whatever a store raises: the file cannot be had, and is not needed
            return None
        if not path.is_file():
            return None
        paths[name] = path
    return paths or None


@contextlib.contextmanager
def fetched(address: str) -> Iterator[Path]:
    """A folder of an object store on this machine, while it is needed. Raises RequestError where it is not there."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            FlyteContextManager.current_context().file_access.get_data(address, folder, is_multipart=True)
        except FlyteException as error:
            raise RequestError(f"solution: {address} cannot be fetched: {error}") from error
        yield Path(folder)


def _saved(address: str) -> CodeGenEvalResult:
    if "://" not in address:
        return CodeGenEvalResult.load(address)
    with fetched(address) as folder:
        return CodeGenEvalResult.load(folder)


def _whole_id(solution: str, project: str, domain: str) -> str:
    name, _, version = solution.partition("@")
    found = find_solutions(project=project or None, domain=domain or None, name=name)
    whole = next((each.id for each in found if each.version == version), None)
    if whole is None:
        raise RequestError(
            f"solution: no version {version!r} of {name!r} is registered; find_solutions() lists what is"
        )
    return whole


# Where a renewed solution goes: into the control plane that the old one is in, or into its folder.


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
    target = choose_project_domain(remote, project, domain)
    plan = active_plan(remote, target, order.launch_plan or name)
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
