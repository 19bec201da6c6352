"""A whole run in one process, by the same stages and the same decisions as the Flyte workflow."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from flyteplugins_codegen.llm.budget import BudgetAccount
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.spending import ModelCall
from flyteplugins_codegen.stages.actions import (
    Action,
    BuildEnvironment,
    Driven,
    Finish,
    FirstDraft,
    JudgeSideBySide,
    MeasureStrength,
    Redraft,
    Repair,
    StrengthenTests,
    WorkAsAgent,
)
from flyteplugins_codegen.stages.agentic.work import work_as_agent
from flyteplugins_codegen.stages.attempts import StageResult, settle_certainties
from flyteplugins_codegen.stages.build import build_environment
from flyteplugins_codegen.stages.candidates.judge import judge_side_by_side
from flyteplugins_codegen.stages.context import extract_context, with_schemas
from flyteplugins_codegen.stages.draft import draft_anew, with_drafts, write_drafts
from flyteplugins_codegen.stages.model_calls import open_account
from flyteplugins_codegen.stages.preflight import check_before_spending
from flyteplugins_codegen.stages.repair import repair
from flyteplugins_codegen.stages.sandboxes import RunSandboxes
from flyteplugins_codegen.stages.strength import judge_and_measure, measure_strength, strengthen_tests

_AskingStage: TypeAlias = Callable[[Run, Mapping[str, Path], BudgetAccount], Awaitable[StageResult]]
_ASKING_STAGES: Final[dict[type[Action], _AskingStage]] = {
    Repair: repair,
    Redraft: draft_anew,
    StrengthenTests: strengthen_tests,
    WorkAsAgent: work_as_agent,
}


@dataclass(frozen=True, slots=True)
class _RunResources:
    """What all steps of one run share."""

    samples: Mapping[str, Path]
    account: BudgetAccount
    sandboxes: RunSandboxes


async def drive(run: Run, samples: Mapping[str, Path]) -> Driven:
    """Drive a run from its request to its end.

    Raises:
        CodegenError: a failure that is not the fault of a candidate: the model, the package index or the sandbox.
            Replies that were paid for are stored, and the same call resumes from there.
    """
    with closing(RunSandboxes()) as sandboxes:
        account = open_account(run, on_call=lambda: sandboxes.open_ahead(run))
        context, _ = await asyncio.gather(
            asyncio.to_thread(extract_context, run.settings, run.request, samples),
            asyncio.to_thread(check_before_spending, run.settings),
        )
        result = await with_schemas(run.model_copy(update={"context": context}), samples, account)
        return await _drive_on(result.run, _RunResources(samples, account, sandboxes), result.calls)


async def drive_on(
    run: Run, samples: Mapping[str, Path], account: BudgetAccount, calls: tuple[ModelCall, ...] = ()
) -> Driven:
    """Drive a run from its present state to its end. `calls` are the calls so far, with messages. Raises as `drive`."""
    with closing(RunSandboxes()) as sandboxes:
        return await _drive_on(run, _RunResources(samples, account, sandboxes), calls)


async def _drive_on(run: Run, resources: _RunResources, calls: tuple[ModelCall, ...]) -> Driven:
    run, action = settle_certainties(run)
    while not isinstance(action, Finish):
        run, new_calls = await _step(run, action, resources)
        calls += new_calls
        run, action = settle_certainties(run)
    return Driven(run=run, finish=action, calls=calls)


async def _step(run: Run, action: Action, resources: _RunResources) -> tuple[Run, tuple[ModelCall, ...]]:
    """Carry out one action; return the run after it, and its calls with their messages."""
    samples, account, sandboxes = resources.samples, resources.account, resources.sandboxes
    match action:
        case FirstDraft():
            drafts = await write_drafts(run, account, action.count)
            return with_drafts(run, drafts), drafts.calls
        case Repair() | Redraft() | StrengthenTests() | WorkAsAgent():
            result = await _ASKING_STAGES[type(action)](run, samples, account)
            return result.run, result.calls
        case JudgeSideBySide():
            return await asyncio.to_thread(judge_side_by_side, run, samples, sandboxes), ()
        case MeasureStrength():
            return await asyncio.to_thread(measure_strength, run, sandboxes), ()
        case BuildEnvironment():
            return await asyncio.to_thread(build_environment, run), ()
        case _:
            return await judge_and_measure(run, samples, sandboxes), ()
