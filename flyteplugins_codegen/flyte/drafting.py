"""The two drafts, asked for side by side wherever the tasks run.

On a cluster the two tasks are two pods and run at once. flytekit's local execution runs one task after another: there
the first asks for both drafts together and leaves the second one's for it in our own store.
"""

from __future__ import annotations

from flyteplugins_codegen.flyte.caching import runs_locally
from flyteplugins_codegen.flyte.state import RunState
from flyteplugins_codegen.stages.asking import open_account
from flyteplugins_codegen.stages.draft import SolutionDraft, TestsDraft, write_drafts, write_solution, write_tests
from flyteplugins_codegen.store import ContentStore, digest, remembered
from flyteplugins_codegen.syncing import run_blocking

_KIND = "test-drafts"


def draft_solution(state: RunState) -> SolutionDraft:
    """The solution's draft. Raises ModelError."""
    run = state.run
    if not runs_locally():
        return run_blocking(write_solution(run, open_account(run, is_halved=True)))
    solution, tests = run_blocking(write_drafts(run, open_account(run)))
    remembered(ContentStore(), _KIND, digest(state), TestsDraft, lambda: tests, reread=False)
    return solution


def draft_tests(state: RunState) -> TestsDraft:
    """The tests' draft. Raises ModelError."""
    run = state.run
    left = ContentStore().get(_KIND, digest(state), TestsDraft) if runs_locally() else None
    return left or run_blocking(write_tests(run, open_account(run, is_halved=True)))
