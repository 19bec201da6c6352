"""The whole way in one process: the same stages and the same decisions as the Flyte workflow takes."""

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
from flyteplugins_codegen.stages.agentic.work import Worked, work_as_agent
from flyteplugins_codegen.stages.attempts import settle_certainties
from flyteplugins_codegen.stages.build import build_environment
from flyteplugins_codegen.stages.candidates.judge import judge_side_by_side
from flyteplugins_codegen.stages.context import extract_context, with_schemas
from flyteplugins_codegen.stages.draft import Drafted, draft_anew, open_account, with_drafts, write_drafts
from flyteplugins_codegen.stages.loop import (
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
from flyteplugins_codegen.stages.prepare import check_sandbox
from flyteplugins_codegen.stages.repair import Repaired, repair
from flyteplugins_codegen.stages.sandboxes import Sandboxes
from flyteplugins_codegen.stages.strength import Strengthened, judge_and_measure, measure_strength, strengthen_tests


async def drive(run: Run, samples: Mapping[str, Path]) -> Driven:
    """Take the run from its request to its end.

    Raises:
        CodegenError: what no candidate is to blame for: a model, the package index or the sandbox failed. What was
            paid for by then is kept, and the same call takes up where this one stopped.
    """
    with closing(Sandboxes()) as sandboxes:
        account = open_account(run, on_call=lambda: sandboxes.foresee(run))
        context, _ = await asyncio.gather(
            asyncio.to_thread(extract_context, run.settings, run.request, samples),
            asyncio.to_thread(check_sandbox, run.settings.sandbox),
        )
        schemed = await with_schemas(run.model_copy(update={"context": context}), samples, account)
        return await _drive_on(schemed.run, _Means(samples, account, sandboxes), schemed.calls)


async def drive_on(
    run: Run, samples: Mapping[str, Path], account: BudgetAccount, calls: tuple[ModelCall, ...] = ()
) -> Driven:
    """Take the run from where it stands to its end; `calls` are those so far, with messages. Raises as `drive`."""
    with closing(Sandboxes()) as sandboxes:
        return await _drive_on(run, _Means(samples, account, sandboxes), calls)


_Trying: TypeAlias = Callable[
    [Run, Mapping[str, Path], BudgetAccount], Awaitable[Repaired | Drafted | Strengthened | Worked]
]
_TRIES: Final[dict[type[Action], _Trying]] = {
    Repair: repair,
    Redraft: draft_anew,
    StrengthenTests: strengthen_tests,
    WorkAsAgent: work_as_agent,
}


@dataclass(frozen=True, slots=True)
class _Means:
    """What the steps of one run share."""

    samples: Mapping[str, Path]
    account: BudgetAccount
    sandboxes: Sandboxes


async def _drive_on(run: Run, means: _Means, calls: tuple[ModelCall, ...]) -> Driven:
    run, action = settle_certainties(run)
    while not isinstance(action, Finish):
        run, made = await _step(run, action, means)
        calls += made
        run, action = settle_certainties(run)
    return Driven(run=run, finish=action, calls=calls)


async def _step(run: Run, action: Action, means: _Means) -> tuple[Run, tuple[ModelCall, ...]]:
    """The run after one action, and the calls that it took, with their messages."""
    match action:
        case FirstDraft():
            drafts = await write_drafts(run, means.account, action.count)
            return with_drafts(run, drafts), drafts.calls
        case Repair() | Redraft() | StrengthenTests() | WorkAsAgent():
            tried = await _TRIES[type(action)](run, means.samples, means.account)
            return tried.run, tried.calls
        case JudgeSideBySide():
            return await asyncio.to_thread(judge_side_by_side, run, means.samples, means.sandboxes), ()
        case MeasureStrength():
            return await asyncio.to_thread(measure_strength, run, means.sandboxes), ()
        case BuildEnvironment():
            return await asyncio.to_thread(build_environment, run), ()
        case _:
            return await judge_and_measure(run, means.samples, means.sandboxes), ()
