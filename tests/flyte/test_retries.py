"""Which errors a cluster tries again, and what the settings of stages refuse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flyteidl.core.errors_pb2 import ContainerError, ErrorDocument
from flytekit.core.checkpointer import SyncCheckpoint
from flytekit.core.context_manager import ExecutionParameters, ExecutionState, FlyteContextManager
from flytekit.core.type_engine import TypeEngine
from flytekit.models.literals import LiteralMap
from pod_forker import forked_pods
from propeller import StartPod
from pydantic import ValidationError

from flyteplugins_codegen import AutoCoderAgent, errors
from flyteplugins_codegen.errors import CodegenError
from flyteplugins_codegen.flyte.pods import keeping_replies
from flyteplugins_codegen.llm.replay import REPLIES
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.store import ContentStore

# Raises the error with this name and these arguments, from where a task of ours would.
FAILING = """\
import json

from flytekit import task

from flyteplugins_codegen import errors
from flyteplugins_codegen.solution.flytekit import readable_errors


def throw(error):
    raise error


@task
@readable_errors
def fail(name: str, message: str, fields: str) -> int:
    return throw(getattr(errors, name)(message, **json.loads(fields)))


@task
@readable_errors
def divide() -> int:
    return 1 // 0


@task
@readable_errors
def fetch(refused: bool) -> int:
    from flytekit.exceptions.system import FlyteDownloadDataException

    try:
        return throw(PermissionError("403") if refused else ConnectionError("reset"))
    except OSError as error:
        return throw(FlyteDownloadDataException(f"Failed to get data: {error}"))
"""


@pytest.fixture(scope="module")
def start_pod(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartPod]:
    folder = tmp_path_factory.mktemp("code")
    (folder / "failing.py").write_text(FAILING)
    archive = folder / "package.tgz"
    pyflyte = str(Path(sys.executable).with_name("pyflyte"))
    packaging = (pyflyte, "--pkgs", "failing", "package", "--image", "runner:1", "--output", str(archive))
    subprocess.run(packaging, cwd=folder, capture_output=True, check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        with forked_pods(archive) as start:
            yield start


def error_of(start_pod: StartPod, folder: Path, task: str, **inputs: Any) -> ContainerError:
    """What a task leaves in `error.pb` when a cluster starts it with these inputs."""
    context = FlyteContextManager.current_context()
    literals = {name: TypeEngine.to_literal(context, value, type(value), None) for name, value in inputs.items()}
    (folder / "inputs.pb").write_bytes(LiteralMap(literals=literals).to_flyte_idl().SerializeToString())
    (folder / "raw").mkdir()
    command = ["pyflyte-execute", "--inputs", str(folder / "inputs.pb"), "--output-prefix", str(folder)]
    command += ["--raw-output-data-prefix", str(folder / "raw"), "--checkpoint-path", str(folder / "checkpoint")]
    command += ["--prev-checkpoint", '""', "--resolver", "flytekit.core.python_auto_container.default_task_resolver"]
    status, said = start_pod([*command, "--", "task-module", "failing", "task-name", task], {})
    assert status == 0, said
    return ErrorDocument.FromString((folder / "error.pb").read_bytes()).error


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


# Everything else in the tree of errors is final: a new class must be put here, or is not retried.
TRANSIENT = [
    *(errors.ProviderError("no answer"), errors.ProviderError("slow down", 429), errors.ProviderError("down", 503)),
    *(errors.DeadlineError("no complete reply"), errors.IndexUnavailableError("no index")),
    *(errors.SandboxError("the judge did not start"), errors.RemoteError("no answer", is_transient=True)),
]
FINAL = [
    *(errors.ProviderError("refused", status) for status in (400, 401, 402, 404, 413, 422)),
    *(errors.RemoteError("refused"), errors.MissingProgramError("no uv"), errors.SandboxUnavailableError("no bwrap")),
    *(
        kind("cannot help")
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, CodegenError) and kind not in {type(each) for each in TRANSIENT}
    ),
]


def raised(start_pod: StartPod, folder: Path, error: CodegenError) -> ContainerError:
    more = {"status": error.status} if isinstance(error, errors.ProviderError) else {}
    more |= {"is_transient": error.is_transient} if isinstance(error, errors.RemoteError) else {}
    return error_of(start_pod, folder, "fail", name=type(error).__name__, message=str(error), fields=json.dumps(more))


@pytest.mark.parametrize("error", TRANSIENT, ids=repr)
def test_what_another_try_may_help_is_tried_again_on_a_cluster(
    start_pod: StartPod, tmp_path: Path, error: CodegenError
) -> None:
    left = raised(start_pod, tmp_path, error)
    assert left.kind == ContainerError.RECOVERABLE
    assert f"{type(error).__name__}: {error}" in left.message


@pytest.mark.parametrize("error", FINAL, ids=repr)
def test_what_no_other_try_can_help_fails_at_once(start_pod: StartPod, tmp_path: Path, error: CodegenError) -> None:
    left = raised(start_pod, tmp_path, error)
    assert left.kind == ContainerError.NON_RECOVERABLE
    assert str(error) in left.message


def test_a_defect_is_not_tried_again(start_pod: StartPod, tmp_path: Path) -> None:
    assert error_of(start_pod, tmp_path, "divide").kind == ContainerError.NON_RECOVERABLE


@pytest.mark.parametrize(("refused", "kind"), [(True, "NON_RECOVERABLE"), (False, "RECOVERABLE")])
def test_a_store_that_refuses_is_not_asked_again_and_one_that_fails_is(
    start_pod: StartPod, tmp_path: Path, *, refused: bool, kind: str
) -> None:
    error = error_of(start_pod, tmp_path, "fetch", refused=refused)
    assert ContainerError.Kind.Name(error.kind) == kind
    assert ("Grant this access" in error.message) is refused


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
