"""A solution held against fresh data, as a Flyte workflow for schedules: renewed only where it must be.

Where nothing changed, two nodes run and no model is asked. What is decided is decided by `stages.refresh.decide` alone;
a `@dynamic` asks it, and makes the nodes of what comes next.
"""

from __future__ import annotations

import datetime as dt

import click
from flytekit import approve, dynamic, workflow
from flytekit.exceptions.user import FlyteDisapprovalException
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.errors import NotApprovedError
from flyteplugins_codegen.flyte.launching import launchable
from flyteplugins_codegen.flyte.readable import readable_errors
from flyteplugins_codegen.flyte.refresh_state import NOW, RefreshState
from flyteplugins_codegen.flyte.refresh_tasks import (
    Made,
    conclude,
    describe_change,
    examine_data,
    renew_solution,
    replace_solution,
)
from flyteplugins_codegen.models.refresh import Approval, RefreshOutcome, ToleratedDrift
from flyteplugins_codegen.stages.refresh.decide import AskForApproval, Keep, Regenerate, RepairEarlier, next_step


@dynamic
@readable_errors
def take_steps(state: RefreshState, data: dict[str, FlyteFile]) -> RefreshOutcome:
    """The nodes of what comes after the examination."""
    if not isinstance(next_step(state.refresh), RepairEarlier | Regenerate):
        return conclude(state=state)
    made, proposed = renew_solution(state=state, data=data, key=state.key)
    return settle(state=state, made=made, proposed=proposed)


@dynamic
@readable_errors
def settle(state: RefreshState, made: Made, proposed: FlyteDirectory) -> RefreshOutcome:
    """Ask a human where that is to be, and let the new solution take the place of the old one."""
    state = state.changed(renewal=made.renewal, comparison=made.comparison)
    step = next_step(state.refresh)
    if isinstance(step, Keep):
        return conclude(state=state)
    approved = "nobody was to be asked"
    if isinstance(step, AskForApproval):
        described = describe_change(state=state, proposed=proposed)
        approved = _approved(described, state, proposed)
    return replace_solution(state=state, proposed=proposed, approved=approved)


@launchable
@workflow
@readable_errors
def refresh(  # noqa: PLR0913 - a command line is flat
    *,
    solution: str,
    data: dict[str, FlyteFile],
    kickoff: dt.datetime = NOW,
    drift: ToleratedDrift = "minor",
    tolerated: list[str] | None = None,
    allowed_difference: float = 0.0,
    approval: Approval = "when outputs differ",
    approval_timeout_h: float = 24.0,
    model: str = "",
    api_key: str = "",
    api_base: str = "",
    budget: dict | None = None,
    max_iterations: int | None = None,
    save_to: str = "",
    launch_plan: str = "",
    project: str = "",
    domain: str = "",
) -> RefreshOutcome:
    """Hold a solution against fresh data, and renew it only where it must be.

    Profiles the data, compares them with those that the solution was made from, validates them, and runs the solution
    and its tests on them. Where all is well it ends there, and no model is asked. Where the data drifted, or something
    failed, a model repairs the solution or writes it anew, within the budget; old and new run side by side, and a
    human is asked where their outputs differ too much. Fails where the solution does not do on the data and no better
    one was found.

    Args:
        solution: the folder of a saved solution, or a registered one as NAME (the newest), NAME@VERSION, or its id
        data: the fresh data, a JSON object of the names of file inputs and files; {kickoff:%Y-%m-%d} in an address
            such as s3://bucket/day={kickoff:%Y-%m-%d}/sales.csv stands for the time of the schedule
        kickoff: the time that the addresses of data speak of; the default, the epoch, stands for now
        drift: drift that is no reason to change anything; none, minor, or any, by which only failures are
        tolerated: drifts that never matter, each a kind (range), a column, or both (range price)
        allowed_difference: share by which outputs of old and new solution may differ without a human, 0 to 1
        approval: whether a human is asked before a new solution takes the place of the old one; "never", "always", or
            "when outputs differ"
        approval_timeout_h: hours that the gate waits on a cluster
        model: the model that is asked, by default the one that made the solution
        api_key: NAME of the environment variable or secret that holds the key, never the key itself
        api_base: address of an OpenAI- or Anthropic-compatible server of your own
        budget: what model calls may spend, a JSON object of max_calls, max_tokens, max_cost_usd, max_wall_s
        max_iterations: how many candidates are tried at most
        save_to: where a new version of a saved solution goes; by default its own folder, and the old one beside it
        launch_plan: the launch plan that is moved to a new version, by default the one of the solution's name
        project: where a registered solution is looked for, by default that of the execution
        domain: where a registered solution is looked for, by default that of the execution
    """
    state = examine_data(
        solution=solution,
        data=data,
        kickoff=kickoff,
        drift=drift,
        tolerated=tolerated,
        allowed_difference=allowed_difference,
        approval=approval,
        approval_timeout_h=approval_timeout_h,
        model=model,
        api_key=api_key,
        api_base=api_base,
        budget=budget,
        max_iterations=max_iterations,
        save_to=save_to,
        launch_plan=launch_plan,
        project=project,
        domain=domain,
    )
    return take_steps(state=state, data=data)


def _approved(described: str, state: RefreshState, proposed: FlyteDirectory) -> str:
    """A gate on a cluster; here a question at the terminal."""
    try:
        timeout = dt.timedelta(hours=state.order.approval_timeout_h)
        return approve(described, "approve-refresh", timeout)
    except (FlyteDisapprovalException, click.Abort) as error:
        refused = isinstance(error, FlyteDisapprovalException)
        why = "was not approved" if refused else "waits for approval, and nobody is here to be asked"
        raise NotApprovedError(
            f"the new version of {state.name!r} {why}; it lies in {proposed.path}, and the old one stays. Start again "
            "at a terminal to be asked, or pass --approval never; nothing is paid for twice"
        ) from error
