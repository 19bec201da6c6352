"""Registering as a Flyte task of its own: a node of any workflow after the one that generates.

The pod talks to the control plane as any client does, by `FLYTE_PLATFORM_URL` (and, where that asks who is there,
`FLYTE_CREDENTIALS_CLIENT_ID` and the client's secret) in its environment, or a configuration file in its image. All
that the identity needs is to create tasks, workflows and launch plans in its own project and domain. Whoever trusts no
generated code unseen lets an `approve` gate stand before this node.
"""

from __future__ import annotations

from flytekit import task

from flyteplugins_codegen.flyte.imaging import show_image
from flyteplugins_codegen.flyte.launching import launchable
from flyteplugins_codegen.flyte.readable import logger, readable_errors
from flyteplugins_codegen.flyte.registration.values import RegisteredSolution
from flyteplugins_codegen.result import CodeGenEvalResult


@launchable
@task(enable_deck=True, deck_fields=())
@readable_errors
def register_solution(result: CodeGenEvalResult, project: str = "", domain: str = "") -> RegisteredSolution:
    """Register a result's task in the control plane of flytekit's configuration; the same again changes nothing.

    Args:
        result: a result that came to success
        project: by default that of the execution
        domain: by default that of the execution
    """
    return register_and_tell(result, project, domain)


def register_and_tell(result: CodeGenEvalResult, project: str = "", domain: str = "") -> RegisteredSolution:
    """Register, and say under which id and where to look at it."""
    registered = result.register(project=project or None, domain=domain or None)
    if registered.built is not None:
        show_image(registered.built)
    logger.info("registered: %s", registered)
    return registered
