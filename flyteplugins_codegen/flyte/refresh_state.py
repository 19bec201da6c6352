"""What travels between the tasks of a refresh, how its solution is loaded, and where a new version is published."""

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
from typing import Any, Final

from flytekit.core.context_manager import FlyteContextManager
from flytekit.exceptions.base import FlyteException
from flytekit.models.core.identifier import Identifier, ResourceType
from flytekit.types.file import FlyteFile
from pydantic import Field, JsonValue

from flyteplugins_codegen.errors import NotSuccessfulError, RequestError, SettingsError
from flyteplugins_codegen.flyte.tasks import show_image
from flyteplugins_codegen.llm.registry import own_address, public_address
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
PUBLIC: Final = "public"
"""As `api_base`: the address of the model's provider."""
NOW = dt.datetime.fromtimestamp(0, dt.timezone.utc)
"""The default of `kickoff`: the time of the call. A schedule sets an input of type datetime, which cannot be None."""


class RefreshOrder(Value):
    """The arguments of a refresh. `solution` is an id or a folder's address; `changes` are settings of the model."""

    solution: str
    is_registered: bool
    save_to: str = ""
    launch_plan: str = ""
    approval_timeout_h: float = 24.0
    changes: dict[str, JsonValue] = Field(default_factory=dict)


class RefreshState(Value):
    """A refresh between two tasks.

    `key` is the digest of what a model would be asked. `time` fills the templates in the addresses of the data: the
    same for all tasks, whenever they run.
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
    """The order, with the complete id of its solution: a name alone means the version that is newest now.

    Raises RequestError, RemoteError.
    """
    if "://" in solution or Path(solution).is_dir():
        address = solution if "://" in solution else str(Path(solution).absolute())
        return RefreshOrder(solution=address, is_registered=False, **others)
    if "/" in solution or solution.startswith("."):
        raise RequestError(f"solution: there is no folder {solution!r}; pass one that save() wrote, or a registered id")
    if ":" in solution or "@" in solution:
        full_id = _full_id(solution, project, domain) if "@" in solution else solution
        return RefreshOrder(solution=full_id, is_registered=True, **others)
    newest = find_solutions(project=project or None, domain=domain or None, name=solution, limit=1)
    if not newest:
        raise RequestError(
            f"solution: {solution!r} is neither a folder here nor the name of a registered solution; "
            "find_solutions() lists those"
        )
    return RefreshOrder(solution=newest[0].id, is_registered=True, **others)


def load_result(order: RefreshOrder) -> CodeGenEvalResult:
    """The current solution, with the settings of the order.

    Someone else may have written the solution: they must not choose where our key is sent or which file is written. So
    `api_key` and `record` of a registered solution, and `api_base` of any, come from the order only.

    Raises RequestError, RemoteError; SettingsError where it was made at another address than the provider's, and the
    order names none; NotSuccessfulError for the result of a run that failed.
    """
    result = load_solution(order.solution) if order.is_registered else _load_saved(order.solution)
    untrusted: dict[str, Any] = {"api_key": None, "record": None} if order.is_registered else {}
    settings = checked(Settings, **{**dict(result.settings), **untrusted, "api_base": None, **order.changes})
    settings = settings.model_copy(update={"api_base": _choose_address(result.settings, settings)})
    result.bundle()  # raises for a result without a solution
    return result.model_copy(update={"settings": settings})


def _choose_address(earlier: Settings, settings: Settings) -> str | None:
    """The `api_base` to ask at. Raises SettingsError where data could go elsewhere than when the solution was made."""
    if settings.model.startswith("replay:"):
        return None
    if settings.api_base == PUBLIC:
        return public_address(settings.model)
    address = own_address(earlier)
    may_ask = settings.budget.max_calls != 0
    if settings.api_base is None and address is not None and may_ask:
        raise SettingsError(
            f"refresh of {earlier.name!r}: it was made with the model at {address}, and no address is taken from a "
            "solution, which others may have written. Nothing was sent. Say which server may be asked: "
            f"--api_base {address}, or --api_base {PUBLIC} for the provider's own address"
        )
    return settings.api_base


def earlier_of(result: CodeGenEvalResult) -> Earlier:
    """The parts of a result that a refresh needs. Raises NotSuccessfulError for one without an environment."""
    if result.environment is None:
        raise NotSuccessfulError(f"{result.settings.name!r} has no environment; generate it once more")
    plan = result.plan or CodePlan(description=result.prompt, approach="")
    judged = (attempt.candidate for attempt in reversed(result.attempt_history))
    same = next((candidate for candidate in judged if candidate.solution == result.solution), None)
    kept = {"cases": same.cases, "arguments": same.arguments} if same else {}
    return Earlier(
        candidate=Candidate(plan=plan, solution=result.solution, tests=result.tests, **kept),
        environment=result.environment,
        request=result.request,
        settings=result.settings,
        profiles=result.profiles,
        schemas=result.schemas,
        constraints=result.constraints,
    )


def version_of(result: CodeGenEvalResult) -> str:
    """A version for the control plane: the digest of the solution and of the profiles that it was last judged with.

    The same code for drifted data is another version, because the next refresh compares with other statistics.
    """
    profiles = {name: profile.model_dump(mode="json") for name, profile in result.profiles.items()}
    return digest(result.bundle(), profiles)[:32]


def time_of(kickoff: dt.datetime) -> dt.datetime:
    """The kickoff time, with the current time for `NOW`."""
    return dt.datetime.now(dt.timezone.utc) if kickoff == NOW else kickoff


def at_time(data: Mapping[str, FlyteFile], time: dt.datetime) -> dict[str, FlyteFile]:
    """The data with the time in place of `{kickoff}` or `{kickoff:%Y-%m-%d}` in their addresses.

    Raises RequestError for a format that `strftime` does not know.
    """
    return {name: _fill_template(file, time) for name, file in data.items()}


def _fill_template(file: FlyteFile, time: dt.datetime) -> FlyteFile:
    address = str(file.remote_source or file.path)
    if not _TEMPLATE.search(address):
        return file
    try:
        return FlyteFile(
            _TEMPLATE.sub(lambda match: time.strftime(match[1]) if match[1] else time.isoformat(), address)
        )
    except ValueError as error:
        raise RequestError(f"data: {address!r}: {error}; write a time as {{kickoff:%Y-%m-%d}}") from error


def old_data(result: CodeGenEvalResult) -> dict[str, Path] | None:
    """The samples that the solution was generated from; None where one of them is gone."""
    paths: dict[str, Path] = {}
    for name, file in result.original_samples.items():
        try:
            path = Path(os.fspath(file))
        except Exception:  # noqa: BLE001 - depends on the store; the file is gone, and not required
            return None
        if not path.is_file():
            return None
        paths[name] = path
    return paths or None


@contextlib.contextmanager
def fetched(address: str) -> Iterator[Path]:
    """Context with a temporary copy of an object store's folder. Raises RequestError where it does not exist."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            FlyteContextManager.current_context().file_access.get_data(address, folder, is_multipart=True)
        except FlyteException as error:
            raise RequestError(f"solution: {address} cannot be fetched: {error}") from error
        yield Path(folder)


def _load_saved(address: str) -> CodeGenEvalResult:
    if "://" not in address:
        return CodeGenEvalResult.load(address)
    with fetched(address) as folder:
        return CodeGenEvalResult.load(folder)


def _full_id(solution: str, project: str, domain: str) -> str:
    name, _, version = solution.partition("@")
    versions = find_solutions(project=project or None, domain=domain or None, name=name)
    full_id = next((registered.id for registered in versions if registered.version == version), None)
    if full_id is None:
        raise RequestError(
            f"solution: no version {version!r} of {name!r} is registered; find_solutions() lists what is"
        )
    return full_id


# --- publishing a new version ---


class Published(Value):
    """Where the new version is, and the launch plan that was moved to it, if any."""

    solution: str
    launch_plan: str | None = None


def publish(result: CodeGenEvalResult, order: RefreshOrder) -> Published:
    """Register the new version and move the launch plan; or replace the saved one, and keep its old folder.

    Raises RemoteError, RequestError, OSError.
    """
    if order.is_registered:
        return _register(result, order)
    return Published(solution=_save(result, order))


def _register(result: CodeGenEvalResult, order: RefreshOrder) -> Published:
    project, domain, name, _ = order.solution.split(":")
    remote = open_remote(None)
    target = choose_project_domain(remote, project, domain)
    plan = active_plan(remote, target, order.launch_plan or name)
    if plan is None and order.launch_plan:
        raise RequestError(
            f"launch plan {order.launch_plan!r} is not active in {project}/{domain}; nothing was changed"
        )
    # A launch plan starts a workflow, which is registered together with a plan: an inactive one.
    settings = LaunchPlanSettings(is_active=False) if plan is not None else None
    registered = result.register(remote, project, domain, version_of(result), settings)
    if registered.built is not None:
        show_image(registered.built)
    if order.save_to:
        _save(result, order)
    if plan is None:
        return Published(solution=registered.id)
    workflow = Identifier(ResourceType.WORKFLOW, project, domain, registered.name, registered.version)
    return Published(solution=registered.id, launch_plan=move_plan(remote, plan, workflow))


def _save(result: CodeGenEvalResult, order: RefreshOrder) -> str:
    address = order.save_to or order.solution
    if "://" in address:
        _upload(result, address.rstrip("/"), keeps_earlier=not order.save_to)
        return address
    return str(_save_locally(result, Path(address).absolute()))


def _upload(result: CodeGenEvalResult, address: str, *, keeps_earlier: bool) -> None:
    """Save to an object store. It cannot rename, so the old folder is copied before the new one is written."""
    access = FlyteContextManager.current_context().file_access
    with tempfile.TemporaryDirectory() as folder:
        if keeps_earlier:
            with fetched(address) as earlier:
                content = digest((earlier / "result.json").read_bytes())[:12]
                access.put_data(str(earlier), f"{address}-{content}", is_multipart=True)
        access.put_data(str(result.save(Path(folder) / "solution")), address, is_multipart=True)


def _save_locally(result: CodeGenEvalResult, folder: Path) -> Path:
    """Save under a temporary name, then rename; the old folder stays beside it, with its digest in its name."""
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
