"""Which errors a cluster tries again, and what the settings of stages refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flytekit.core.checkpointer import SyncCheckpoint
from flytekit.core.context_manager import ExecutionParameters, ExecutionState, FlyteContextManager
from flytekit.exceptions.user import FlyteRecoverableException
from pydantic import ValidationError

from flyteplugins_codegen import AutoCoderAgent
from flyteplugins_codegen.errors import (
    CodegenError,
    IndexUnavailableError,
    NotSuccessfulError,
    PackageError,
    ProviderError,
    SandboxError,
)
from flyteplugins_codegen.flyte.pods import keeping_replies
from flyteplugins_codegen.llm.replay import REPLIES
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.solution.flytekit import readable_errors
from flyteplugins_codegen.store import ContentStore


def raised_in_a_pod(error: CodegenError) -> BaseException:
    context = FlyteContextManager.current_context()
    state = context.new_execution_state().with_params(mode=ExecutionState.Mode.TASK_EXECUTION)

    @readable_errors
    def fail() -> None:
        raise error

    in_a_pod = FlyteContextManager.with_context(context.with_execution_state(state))
    with in_a_pod, pytest.raises((CodegenError, FlyteRecoverableException)) as caught:
        fail()
    return caught.value


def test_a_store_that_takes_no_checkpoint_costs_a_warning_and_not_the_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither what the earlier try left can be read, nor this one's reply written: there is a file in its place."""
    (tmp_path / "there").touch()
    context = FlyteContextManager.current_context()
    params = ExecutionParameters.new_builder(context.user_space_params)
    params.checkpoint = SyncCheckpoint(str(tmp_path / "there"), str(tmp_path / "nowhere"))
    state = context.new_execution_state().with_params(
        mode=ExecutionState.Mode.TASK_EXECUTION, user_space_params=params.build()
    )

    @keeping_replies
    def ask() -> str:
        ContentStore(tmp_path / "disk").keep(REPLIES, "0" * 64, Settings(model="openai/any"))
        return "answer"

    with FlyteContextManager.with_context(context.with_execution_state(state)):
        assert ask() == "answer"
    assert "a reply could not be kept for another try" in caplog.text


@pytest.mark.parametrize("kind", [ProviderError, IndexUnavailableError, SandboxError])
def test_what_another_try_can_help_is_tried_again_on_a_cluster(kind: type[CodegenError]) -> None:
    raised = raised_in_a_pod(kind("the server is busy"))
    assert isinstance(raised, FlyteRecoverableException)
    assert f"{kind.__name__}: the server is busy" in str(raised)


@pytest.mark.parametrize(
    "error",
    [
        PackageError("no such package"),
        NotSuccessfulError("nothing passed"),
        ProviderError("the key is refused", status=401),
        ProviderError("there is no such model", status=404),
    ],
)
def test_what_no_other_try_can_help_fails_at_once(error: CodegenError) -> None:
    assert raised_in_a_pod(error) is error


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"run_test": {}}, "run_tests"),
        ({"run_tests": {"retries": -1}}, "greater than or equal to 0"),
        ({"run_tests": {"memory": "2Gi"}}, "memory"),
        ({"run_tests": {"resources": {"mem": "much"}}}, "no quantity of memory"),
    ],
)
def test_settings_of_a_stage_that_is_none_or_that_are_not_possible_are_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        AutoCoderAgent(model="openai/any", stage_settings=settings)
