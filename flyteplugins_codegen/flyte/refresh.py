"""A refresh as a Flyte workflow: examine fresh data, renew the solution where needed, publish the new version.

All decisions are made by `stages.refresh.decide`.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any, NamedTuple

import click
from flytekit import Deck, approve, dynamic, task, workflow
from flytekit.exceptions.user import FlyteDisapprovalException
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.errors import DataError, NotApprovedError, NotSuccessfulError
from flyteplugins_codegen.flyte.cli import launchable
from flyteplugins_codegen.flyte.launch import check_model_here, checked_before_launch
from flyteplugins_codegen.flyte.pods import PLANNING_POD, keeping_replies, stage_pod
from flyteplugins_codegen.flyte.preflight import check_before_judging, check_before_spending, check_reaches_beyond_pod
from flyteplugins_codegen.flyte.refresh_state import (
    NOW,
    RefreshState,
    at_time,
    earlier_of,
    load_result,
    old_data,
    order_of,
    publish,
    time_of,
)
from flyteplugins_codegen.flyte.state import JUDGING_CODE, cached_by_code, local_salt, sample_paths
from flyteplugins_codegen.flyte.tasks import folder_for, model_secrets, upload
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.refresh import (
    Approval,
    Comparison,
    Refresh,
    RefreshOutcome,
    RefreshRules,
    Renewal,
    ToleratedDrift,
)
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.result import CodeGenEvalResult
from flyteplugins_codegen.solution.execute import ExecutionOptions
from flyteplugins_codegen.solution.flytekit import checked, logger, readable_errors
from flyteplugins_codegen.stages.preflight import check_together
from flyteplugins_codegen.stages.refresh.compare import compare_solutions, runner
from flyteplugins_codegen.stages.refresh.decide import (
    AskForApproval,
    Keep,
    Refuse,
    Regenerate,
    RepairEarlier,
    next_step,
)
from flyteplugins_codegen.stages.refresh.examine import examine, fresh_request, renew, renewal_of
from flyteplugins_codegen.stages.refresh.page import render_refresh
from flyteplugins_codegen.stages.report.page import as_frame
from flyteplugins_codegen.store import digest
from flyteplugins_codegen.sync import run_blocking

OLD, FRESH = "the data that it was made from", "the fresh data"


class ComparedRenewal(Value):
    """A renewal by a model, and its comparison with the old solution: cached by Flyte, independently of approval."""

    renewal: Renewal
    comparison: Comparison | None = None


class Renewed(NamedTuple):
    """The renewal, and the folder of the proposed solution."""

    made: ComparedRenewal
    proposed: FlyteDirectory


@task(enable_deck=True, deck_fields=(), **stage_pod("run_tests"))
@readable_errors
def examine_data(  # noqa: PLR0913 - a command line is flat
    *,
    solution: str,
    data: dict[str, FlyteFile],
    kickoff: dt.datetime,
    drift: ToleratedDrift,
    tolerated: list[str] | None,
    allowed_difference: float,
    approval: Approval,
    approval_timeout_h: float,
    model: str,
    api_key: str,
    api_base: str,
    budget: dict | None,
    max_iterations: int | None,
    save_to: str,
    launch_plan: str,
    project: str,
    domain: str,
) -> RefreshState:
    """Profile the data, compare, validate, run the solution and its tests. No model is called."""
    settings = {"model": model, "api_key": api_key, "api_base": api_base, "budget": budget}
    changes = {name: value for name, value in {**settings, "max_iterations": max_iterations}.items() if value}
    order = order_of(
        solution,
        project,
        domain,
        save_to=save_to,
        launch_plan=launch_plan,
        approval_timeout_h=approval_timeout_h,
        changes=changes,
    )
    rules = checked(
        RefreshRules,
        drift=drift,
        tolerated=tolerated or (),
        allowed_difference=allowed_difference,
        approval=approval,
    )
    result, time = load_result(order), time_of(kickoff)
    check_before_judging(result.settings.sandbox, save_to=save_to)
    earlier, paths = earlier_of(result), sample_paths(at_time(data, time))
    refresh = Refresh(rules=rules, examination=examine(earlier, paths))
    digests = [sample.model_dump() for sample in fresh_request(earlier, paths).samples]
    key = digest(earlier, digests, rules.drift, rules.tolerated)
    state = RefreshState(order=order, refresh=refresh, name=result.settings.name, time=time)
    return _show_in_deck(state.model_copy(update={"key": digest(key, local_salt(key))}))


# Cached by `key`, because replies do not outlive a pod: the same data are paid for once.
@task(
    enable_deck=True,
    deck_fields=(),
    cache=cached_by_code("data", "llm", *JUDGING_CODE, ignored=("state", "data")),
    secret_requests=model_secrets(),
    **stage_pod("work_as_agent"),
)
@readable_errors
@keeping_replies
def renew_solution(state: RefreshState, data: dict[str, FlyteFile], key: str) -> Renewed:
    """Repair or regenerate with the loop that generated the solution, then run both on the same data."""
    logger.debug("renewing %s", key)
    result, step = load_result(state.order), next_step(state.refresh)
    assert isinstance(step, RepairEarlier | Regenerate)  # noqa: S101 - take_steps has looked
    logger.info("%s: %s", "repairing" if isinstance(step, RepairEarlier) else "regenerating", step.reason)
    check_before_spending(result.settings, save_to=state.order.save_to, register=state.order.is_registered)
    earlier, fresh = earlier_of(result), at_time(data, state.time)
    driven = run_blocking(renew(earlier, state.refresh, step, sample_paths(fresh)))
    renewed = CodeGenEvalResult.from_run(driven, fresh)
    renewal = renewal_of(earlier, driven, renewed.solution.code)
    comparison = _compare(result, renewed, fresh) if renewal.is_success else None
    _show_in_deck(state.changed(renewal=renewal, comparison=comparison))
    folder = renewed.save(folder_for(renewed, ""))
    Deck("Report", as_frame((folder / "report.html").read_text()))
    return Renewed(ComparedRenewal(renewal=renewal, comparison=comparison), upload(folder, ""))


@task(**stage_pod("finish"))
@readable_errors
def describe_change(state: RefreshState, proposed: FlyteDirectory) -> str:
    """The text that the approval gate shows."""
    step = next_step(state.refresh)
    assert isinstance(step, AskForApproval)  # noqa: S101 - settle has looked
    where = proposed.remote_source or proposed.path
    return f"a new version of {state.name!r}, because {step.reason}. Its code, tests and report: {where}"


@task(enable_deck=True, deck_fields=(), **stage_pod("finish"))
@readable_errors
def replace_solution(state: RefreshState, proposed: FlyteDirectory, approved: str) -> RefreshOutcome:
    """Publish the new version; `approved` is the text that a human approved."""
    if isinstance(next_step(state.refresh), AskForApproval):
        logger.info("approved: %s", approved)
        state = state.changed(is_approved=True)
    state = _show_in_deck(state)
    published = publish(CodeGenEvalResult.load(str(Path(proposed))), state.order)
    return _outcome(state, "replaced", published.solution, published.launch_plan)


@task(enable_deck=True, deck_fields=(), **stage_pod("finish"))
@readable_errors
def conclude(state: RefreshState) -> RefreshOutcome:
    """Keep the solution.

    Raises DataError for data that break the user's own schemas or constraints, NotSuccessfulError when the solution
    fails on these data and no better one was found.
    """
    step = next_step(_show_in_deck(state).refresh)
    if isinstance(step, Refuse):
        raise DataError(
            f"refresh of {state.name!r}: it stays as it is, for the data break what you said must hold: {step.reason}. "
            "Mend the data; or change the schema or constraint, which takes generating anew"
        )
    if isinstance(step, Keep) and not step.fits:
        raise NotSuccessfulError(
            f"refresh of {state.name!r}: it does not do on these data, and it stays as it is: {step.reason}"
        )
    return _outcome(state, "kept", state.order.solution)


def _compare(old: CodeGenEvalResult, new: CodeGenEvalResult, fresh: dict[str, FlyteFile]) -> Comparison:
    """Compare the outputs of both solutions on all available data."""
    settings = old.settings
    options = ExecutionOptions(
        sandbox=settings.sandbox,
        resources=settings.resources,
        timeout_s=settings.timeout_s,
        env_vars=settings.env_vars,
    )
    before = old_data(old)
    both = {OLD: before, FRESH: sample_paths(fresh)} if before else {FRESH: sample_paths(fresh)}
    bundles = old.bundle("old solution"), new.bundle("new solution")
    comparison = compare_solutions(*bundles, both, runner(options, settings.cache))
    if before is not None:
        return comparison
    note = f"{OLD} are not at hand, so that nothing was run on them"
    return comparison.model_copy(update={"notes": (note, *comparison.notes)})


def _show_in_deck(state: RefreshState) -> RefreshState:
    """Write the state to the Deck, and return it unchanged."""
    Deck("Refresh", as_frame(render_refresh(state.name, state.refresh)))
    return state


def _outcome(state: RefreshState, decision: str, solution: str, launch_plan: str | None = None) -> RefreshOutcome:
    renewal: Renewal | None = state.refresh.renewal
    step = next_step(state.refresh)
    outcome = RefreshOutcome.model_validate(
        {
            "decision": decision,
            "reason": getattr(step, "reason", ""),
            "solution": solution,
            "launch_plan": launch_plan,
            "model_calls": renewal.model_calls if renewal else 0,
            "tokens": renewal.tokens if renewal else 0,
        }
    )
    logger.info("refresh of %r: %s, for %s: %s", state.name, outcome.decision, outcome.reason, outcome.solution)
    return outcome


# --- workflow ---


@dynamic(**PLANNING_POD)
@readable_errors
def take_steps(state: RefreshState, data: dict[str, FlyteFile]) -> RefreshOutcome:
    """The nodes after the examination."""
    if not isinstance(next_step(state.refresh), RepairEarlier | Regenerate):
        return conclude(state=state)
    made, proposed = renew_solution(state=state, data=data, key=state.key)
    return settle(state=state, made=made, proposed=proposed)


@dynamic(**PLANNING_POD)
@readable_errors
def settle(state: RefreshState, made: ComparedRenewal, proposed: FlyteDirectory) -> RefreshOutcome:
    """Ask for approval where the rules say so, and replace the old solution with the new one."""
    state = state.changed(renewal=made.renewal, comparison=made.comparison)
    step = next_step(state.refresh)
    if isinstance(step, Keep):
        return conclude(state=state)
    approved = "nobody was to be asked"
    if isinstance(step, AskForApproval):
        description = describe_change(state=state, proposed=proposed)
        approved = _ask_for_approval(description, state, proposed)
    return replace_solution(state=state, proposed=proposed, approved=approved)


def check_refresh_launch(  # noqa: PLR0913 - options of `refresh`
    *,
    solution: str,
    drift: ToleratedDrift,
    tolerated: list[str] | None,
    allowed_difference: float,
    approval: Approval,
    save_to: str,
    model: str,
    api_key: str,
    api_base: str,
    **_: Any,
) -> None:
    """Check the options as far as the machine that launches knows them. Raises as `check_together`."""
    rules = {"drift": drift, "allowed_difference": allowed_difference, "approval": approval}
    # The solution has the model's name where none is given; the other two are checked all the same.
    settings = Settings(model=model or "openai/any", api_key=api_key or None, api_base=api_base or None)
    check_together(
        [
            lambda: checked(RefreshRules, tolerated=tolerated or (), **rules),
            lambda: check_model_here(settings),
            lambda: check_reaches_beyond_pod(save_to),
            lambda: check_reaches_beyond_pod(solution, "solution") if "/" in solution else None,
        ]
    )


@checked_before_launch(check_refresh_launch)
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
        api_base: address of an OpenAI- or Anthropic-compatible server of your own, or public for the provider's;
            needed for a solution that was made at a server of your own
        budget: what model calls may spend, a JSON object of max_calls, max_tokens, max_cost_usd, max_wall_s
        max_iterations: how many candidates are tried at most
        save_to: where a new version of a saved solution goes; by default its own folder, and the old one beside it
        launch_plan: the launch plan that is moved to a new version, by default the one of the solution's name
        project: where a registered solution is looked for, by default that of the execution
        domain: where a registered solution is looked for, by default that of the execution
    """
    return take_steps(state=examine_data(**dict(locals())), data=data)


def _ask_for_approval(description: str, state: RefreshState, proposed: FlyteDirectory) -> str:
    """Wait at a gate on a cluster, ask at the terminal in local execution. Raises NotApprovedError."""
    try:
        timeout = dt.timedelta(hours=state.order.approval_timeout_h)
        return approve(description, "approve-refresh", timeout)
    except (FlyteDisapprovalException, click.Abort) as error:
        refused = isinstance(error, FlyteDisapprovalException)
        why = "was not approved" if refused else "waits for approval, and nobody is here to be asked"
        raise NotApprovedError(
            f"the new version of {state.name!r} {why}; it lies in {proposed.path}, and the old one stays. Start again "
            "at a terminal to be asked, or pass --approval never; nothing is paid for twice"
        ) from error
