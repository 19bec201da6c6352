"""Keeping flytekit's local execution of a long recursion within what a file name may hold."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from flytekit.core.context_manager import ExecutionParameters, FlyteContextManager

from flyteplugins_codegen.flyte.caching import runs_locally


@contextlib.contextmanager
def short_working_directory() -> Iterator[None]:
    """Give the tasks called in here a working directory with a short name, in local execution.

    There each task's directory is named after its caller's and eight characters more, so that a dynamic that calls
    itself meets the system's limit of 255 characters after some thirty calls.
    """
    context = FlyteContextManager.current_context()
    state = context.execution_state
    if not runs_locally() or state is None or state.user_space_params is None:
        yield
        return
    params = ExecutionParameters.new_builder(state.user_space_params)
    params.working_dir = str(Path(context.file_access.local_sandbox_dir) / "nested")
    nested = context.with_execution_state(state.with_params(user_space_params=params.build()))
    with FlyteContextManager.with_context(nested):
        yield
