"""`find_solutions` and `load_solution`: registered solutions, with who registered them from which prompt and model."""

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
    """The solutions that `register()` put into a project and domain, newest first; all of them, or those of one name.

    At most `limit`. `remote` is flytekit's FlyteRemote, by default that of flytekit's configuration. Also
    `await find_solutions.aio(...)`.

        for solution in find_solutions(remote):
            print(solution.id, solution.provenance.registered_by, solution.provenance.prompt)

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
    """A registered solution as a result, to be run, made a task, saved or registered again.

    `solution` is a return value of `register` or `find_solutions`, an id `project:domain:name:version`, `name@version`,
    or a name alone, which means the version that was registered last. Samples and the history of the run are not
    registered: inputs have no defaults, and `calls` and `attempt_history` are empty. The code was written by whoever
    registered it, so it runs in a sandbox, whatever its own `sandbox` setting. Also `await load_solution.aio(...)`.

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
    # Who registered it must not choose how it is isolated here.
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
