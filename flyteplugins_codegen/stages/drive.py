"""The whole way in one process: the same stages and the same decisions as the Flyte workflow takes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.stages.asking import open_account
from flyteplugins_codegen.stages.attempts import add_packages
from flyteplugins_codegen.stages.build import build_environment
from flyteplugins_codegen.stages.context import extract_context
from flyteplugins_codegen.stages.draft import with_drafts, write_drafts
from flyteplugins_codegen.stages.loop import (
    AddPackages,
    BuildEnvironment,
    Driven,
    Finish,
    FirstDraft,
    RunTests,
    next_action,
)
from flyteplugins_codegen.stages.prepare import check_sandbox
from flyteplugins_codegen.stages.repair import repair
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
    run, calls = schemed.run, schemed.calls
    while not isinstance(action := next_action(run), Finish):
        match action:
            case FirstDraft():
                solution, tests = await write_drafts(run, account)
                run, calls = with_drafts(run, solution, tests), (*calls, *solution.calls, *tests.calls)
            case BuildEnvironment():
                run = await asyncio.to_thread(build_environment, run)
            case RunTests():
                run = await asyncio.to_thread(run_tests, run, samples)
            case AddPackages():
                run = add_packages(run, action)
            case _:
                repaired = await repair(run, samples, account)
                run, calls = repaired.run, calls + repaired.calls
    return Driven(run=run, finish=action, calls=calls)
