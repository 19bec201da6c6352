"""Drafts that are asked for concurrently, on a cluster and in local execution.

On a cluster each draft is a pod with its share of the remaining budget. flytekit's local execution runs tasks one after
another: there the first task asks for all drafts together, and keeps the others in our own store for their tasks.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from pathlib import Path

from flyteplugins_codegen.flyte.judging import sandbox_preparation
from flyteplugins_codegen.flyte.state import RunState
from flyteplugins_codegen.solution.flytekit import runs_locally
from flyteplugins_codegen.stages.draft import (
    SolutionDraft,
    TestsDraft,
    requested_redraft,
    try_solution,
    write_anew,
    write_drafts,
    write_solution,
    write_tests,
)
from flyteplugins_codegen.stages.loop import first_drafts
from flyteplugins_codegen.stages.model_calls import open_account
from flyteplugins_codegen.store import ContentStore, digest, remembered
from flyteplugins_codegen.sync import run_blocking

_TESTS, _SOLUTIONS = "test-drafts", "solution-drafts"


def draft_solution(state: RunState) -> SolutionDraft:
    """The first solution's draft; an empty one with `backend="agent"`, which drafts later. Raises ModelError."""
    run = state.run
    if run.settings.backend == "agent":
        return SolutionDraft(calls=())
    if not runs_locally():
        account = open_account(run, shares=2)
        return run_blocking(write_solution(run, account) if first_drafts(run) == 1 else try_solution(run, account, 0))
    account = open_account(run, on_call=sandbox_preparation(run))
    drafts = run_blocking(write_drafts(run, account, first_drafts(run)))
    remembered(ContentStore(), _TESTS, digest(state), TestsDraft, lambda: drafts.tests, reread=False)
    _store_others(state, drafts.solutions)
    return drafts.solutions[0]


def draft_tests(state: RunState) -> TestsDraft:
    """The tests' draft; an empty one with `backend="agent"`. Raises ModelError."""
    run = state.run
    if run.settings.backend == "agent":
        return TestsDraft(tests=None)
    stored = ContentStore().get(_TESTS, digest(state), TestsDraft) if runs_locally() else None
    return stored or run_blocking(write_tests(run, open_account(run, shares=2)))


def draft_another(state: RunState, number: int, others: int) -> SolutionDraft:
    """The draft of one of `others` more solutions at the start of a run. Raises ModelError."""
    stored = _stored(state, number)
    return stored or run_blocking(try_solution(state.run, open_account(state.run, shares=others), number))


def redraft(state: RunState, samples: Mapping[str, Path], number: int) -> SolutionDraft:
    """One draft of a later round. Raises ModelError."""
    run, count = state.run, requested_redraft(state.run).count
    if not runs_locally():
        return run_blocking(write_anew(run, samples, open_account(run, shares=count), [number]))[0]
    stored = _stored(state, number) if number else None
    if stored is not None:
        return stored
    drafts = run_blocking(write_anew(run, samples, open_account(run), range(count)))
    _store_others(state, drafts)
    return drafts[number]


def _store_others(state: RunState, drafts: tuple[SolutionDraft, ...]) -> None:
    """Keep all drafts but the first for the tasks that return them."""
    for number, draft in enumerate(drafts[1:], 1):
        compute = functools.partial(copy.copy, draft)
        remembered(ContentStore(), _SOLUTIONS, _key(state, number), SolutionDraft, compute, reread=False)


def _stored(state: RunState, number: int) -> SolutionDraft | None:
    return ContentStore().get(_SOLUTIONS, _key(state, number), SolutionDraft) if runs_locally() else None


def _key(state: RunState, number: int) -> str:
    """Without the calls that were made meanwhile: they do not change what is asked."""
    return digest(state.with_run(state.run.model_copy(update={"calls": ()})), number)
