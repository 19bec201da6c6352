"""`find_solutions` and `load_solution`: what has been registered, by whom, from which prompt and model."""

from __future__ import annotations

from flytekit.models.core.identifier import Identifier, ResourceType
from flytekit.remote import FlyteRemote

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.result import CodeGenEvalResult
from flyteplugins_codegen.solution.registration.record import (
    ProjectDomain,
    RegisteredSolution,
    choose_project_domain,
    open_remote,
    remote_errors,
)
from flyteplugins_codegen.solution.registration.register import fetch_record, list_solutions
from flyteplugins_codegen.sync import Threaded

_PARTS = 4


@Threaded
def find_solutions(
    remote: FlyteRemote | None = None,
    *,
    project: str | None = None,
    domain: str | None = None,
    name: str | None = None,
    limit: int = 100,
) -> list[RegisteredSolution]:
    """What `register()` left in a project and domain, the newest first, at most `limit`; of all names, or of one.

    `remote` is flytekit's FlyteRemote, by default the one of its configuration. Also `await find_solutions.aio(...)`.

        for found in find_solutions(remote):
            print(found.id, found.provenance.registered_by, found.provenance.model, found.provenance.prompt)

    Raises RemoteError when the control plane cannot be reached, or refuses.
    """
    opened = open_remote(remote)
    return list_solutions(opened, choose_project_domain(opened, project, domain), name, limit)


@Threaded
def load_solution(
    solution: RegisteredSolution | str,
    remote: FlyteRemote | None = None,
    *,
    project: str | None = None,
    domain: str | None = None,
) -> CodeGenEvalResult:
    """A registered solution as the result that was registered: it runs here, becomes a task, is saved, or registered.

    `solution` is what `register` or `find_solutions` returned, an id `project:domain:name:version`, `name@version`, or
    a name alone, which means the version registered last. The samples and the history of the run are not registered,
    so that inputs have no defaults, and `calls` and `attempt_history` are empty. It is code of whoever registered it,
    and runs isolated here, whatever its own setting of `sandbox` was. Also `await load_solution.aio(...)`.

    Raises:
        RequestError: there is no such solution.
        RemoteError: the control plane could not be reached, or refused.
    """
    opened = open_remote(remote)
    identifier = _identifier(opened, solution, choose_project_domain(opened, project, domain))
    with remote_errors(opened, f"loading {identifier.name!r}"):
        record = fetch_record(opened, identifier)
    try:
        result = CodeGenEvalResult.model_validate_json(record.source)
    except ValueError as error:
        raise RequestError(
            f"solution {identifier.name!r}, version {identifier.version!r}, was registered by version "
            f"{record.provenance.package_version} of this package, which wrote it otherwise: {error}"
        ) from error
    # Whoever may register there has no say in what isolates it here.
    return result.model_copy(update={"settings": result.settings.model_copy(update={"sandbox": "auto"})})


def _identifier(remote: FlyteRemote, solution: RegisteredSolution | str, target: ProjectDomain) -> Identifier:
    text = solution if isinstance(solution, str) else solution.id
    parts = text.split(":")
    if len(parts) == _PARTS and all(parts):
        return Identifier(ResourceType.TASK, *parts)
    name, at, version = text.partition("@")
    if ":" in text or not name or (at and not version):
        raise RequestError(f"{text!r} is no id of a solution; write name, name@version or project:domain:name:version")
    return Identifier(
        ResourceType.TASK, target.project, target.domain, name, version or _newest_version(remote, target, name)
    )


def _newest_version(remote: FlyteRemote, target: ProjectDomain, name: str) -> str:
    newest = list_solutions(remote, target, name, 1)
    if not newest:
        raise RequestError(
            f"no solution {name!r} is registered in {target.project}/{target.domain}; find_solutions() lists what is"
        )
    return newest[0].version
