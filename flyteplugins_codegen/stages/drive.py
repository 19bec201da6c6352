"""The whole way in one process: the same stages and the same decisions as the Flyte workflow takes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from flyteplugins_codegen.llm.budgeted import Account
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.stages.agentic.work import Worked, work_as_agent
from flyteplugins_codegen.stages.asking import open_account
from flyteplugins_codegen.stages.attempts import settle_certainties
from flyteplugins_codegen.stages.build import build_environment
from flyteplugins_codegen.stages.candidates.judging import judge_side_by_side
from flyteplugins_codegen.stages.context import extract_context
from flyteplugins_codegen.stages.draft import with_drafts, write_drafts
from flyteplugins_codegen.stages.fresh import Drafted, draft_anew
from flyteplugins_codegen.stages.loop import (
    Action,
    BuildEnvironment,
    Driven,
    Finish,
    FirstDraft,
    FreshDrafts,
    JudgeSideBySide,
    Repair,
    WorkAsAgent,
)
from flyteplugins_codegen.stages.prepare import check_sandbox
from flyteplugins_codegen.stages.repair import Repaired, repair
from flyteplugins_codegen.stages.schemas import with_schemas
from flyteplugins_codegen.stages.test import run_tests


async def drive(run: Run, samples: Mapping[str, Path]) -> Driven:
    """Take the run from its request to its end.

    Raises:
        CodegenError: what no candidate is to blame for: a model, the package index or the sandbox failed. What was
            paid for by then is kept, and the same call takes up where this one stopped.
    """
    account = open_account(run)
    context, _ = await asyncio.gather(
        asyncio.to_thread(extract_context, run.settings, run.request, samples),
        asyncio.to_thread(check_sandbox, run.settings.sandbox),
    )
    schemed = await with_schemas(run.model_copy(update={"context": context}), samples, account)
    calls = schemed.calls
    run, action = settle_certainties(schemed.run)
    while not isinstance(action, Finish):
        run, made = await _step(run, action, samples, account)
        calls += made
        run, action = settle_certainties(run)
    return Driven(run=run, finish=action, calls=calls)


_Trying: TypeAlias = Callable[[Run, Mapping[str, Path], Account], Awaitable[Repaired | Drafted | Worked]]
_TRIES: Final[dict[type[Action], _Trying]] = {Repair: repair, FreshDrafts: draft_anew, WorkAsAgent: work_as_agent}


async def _step(
    run: Run, action: Action, samples: Mapping[str, Path], account: Account
) -> tuple[Run, tuple[ModelCall, ...]]:
    """The run after one action, and the calls that it took, with their messages."""
    match action:
        case FirstDraft():
            drafts = await write_drafts(run, account, action.count)
            return with_drafts(run, drafts), drafts.calls
        case Repair() | FreshDrafts() | WorkAsAgent():
            tried = await _TRIES[type(action)](run, samples, account)
            return tried.run, tried.calls
        case JudgeSideBySide():
            return await asyncio.to_thread(judge_side_by_side, run, samples), ()
        case BuildEnvironment():
            return await asyncio.to_thread(build_environment, run), ()
        case _:
            return await asyncio.to_thread(run_tests, run, samples), ()
