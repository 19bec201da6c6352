"""Drafts that are asked for side by side, wherever the tasks run.

On a cluster each is a pod of its own, and has its share of what is left of the budget. flytekit's local execution runs
one task after another: there the first asks for all of them together and leaves the others' in our own store.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from pathlib import Path

from flyteplugins_codegen.flyte.judging import preparing_for
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
    """The first solution's draft; none where a model works by tools, which comes later. Raises ModelError."""
    run = state.run
    if run.settings.backend == "agent":
        return SolutionDraft(calls=())
    if not runs_locally():
        account = open_account(run, shares=2)
        return run_blocking(write_solution(run, account) if first_drafts(run) == 1 else try_solution(run, account, 0))
    account = open_account(run, on_call=preparing_for(run))
    drafts = run_blocking(write_drafts(run, account, first_drafts(run)))
    remembered(ContentStore(), _TESTS, digest(state), TestsDraft, lambda: drafts.tests, reread=False)
    _leave(state, drafts.solutions)
    return drafts.solutions[0]


def draft_tests(state: RunState) -> TestsDraft:
    """The tests' draft; none where a model works by tools. Raises ModelError."""
    run = state.run
    if run.settings.backend == "agent":
        return TestsDraft(tests=None)
    left = ContentStore().get(_TESTS, digest(state), TestsDraft) if runs_locally() else None
    return left or run_blocking(write_tests(run, open_account(run, shares=2)))


def draft_another(state: RunState, place: int, others: int) -> SolutionDraft:
    """The draft of one of `others` solutions more at the run's beginning. Raises ModelError."""
    return _left(state, place) or run_blocking(try_solution(state.run, open_account(state.run, shares=others), place))


def draft_fresh(state: RunState, samples: Mapping[str, Path], place: int) -> SolutionDraft:
    """One draft of a later round. Raises ModelError."""
    run, count = state.run, requested_redraft(state.run).count
    if not runs_locally():
        return run_blocking(write_anew(run, samples, open_account(run, shares=count), [place]))[0]
    left = _left(state, place) if place else None
    if left is not None:
        return left
    drafts = run_blocking(write_anew(run, samples, open_account(run), range(count)))
    _leave(state, drafts)
    return drafts[place]


def _leave(state: RunState, drafts: tuple[SolutionDraft, ...]) -> None:
    for place, draft in enumerate(drafts[1:], 1):
        kept = functools.partial(copy.copy, draft)
        remembered(ContentStore(), _SOLUTIONS, _key(state, place), SolutionDraft, kept, reread=False)


def _left(state: RunState, place: int) -> SolutionDraft | None:
    return ContentStore().get(_SOLUTIONS, _key(state, place), SolutionDraft) if runs_locally() else None


def _key(state: RunState, place: int) -> str:
    """The calls that were made meanwhile are no part of what is asked."""
    return digest(state.with_run(state.run.model_copy(update={"calls": ()})), place)
