"""What the first pod of a run finds out, in a process of its own: the run ends there, before any model call."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import row_count_job as job
from flytekit.configuration import ImageConfig, SerializationSettings
from flytekit.core.context_manager import FlyteContextManager
from flytekit.core.promise import translate_inputs_to_literals
from flytekit.models.admin.workflow import WorkflowSpec
from flytekit.models.literals import LiteralMap
from flytekit.models.task import TaskSpec
from flytekit.tools.translator import get_serializable
from flytekit.types.file import FlyteFile
from model_server import ModelServer
from pod_forker import forked_pods
from propeller import NodeFailedError, StartPod, Walk

from flyteplugins_codegen.errors import MissingKeyError, NotReadyError, RequestError, SandboxUnavailableError
from flyteplugins_codegen.flyte.evaluation import evaluate
from flyteplugins_codegen.flyte.preflight import check_before_spending, check_destination
from flyteplugins_codegen.flyte.sampling import generate_and_evaluate
from flyteplugins_codegen.flyte.workflow import generate
from flyteplugins_codegen.models.settings import Settings

PLACE = SerializationSettings(
    ImageConfig.auto(img_name="runner:1"), project="flytesnacks", domain="development", version="v1"
)
UNREACHABLE = "http://127.0.0.1:9"
WITHOUT_PROGRAMS = {"PATH": ""}
"""Variables of a pod in which no sandbox can be opened."""


@pytest.fixture(scope="module")
def start_pod() -> Iterator[StartPod]:
    """Pods without a configuration of a control plane."""
    with forked_pods(UV_HTTP_RETRIES="0") as start:
        yield start


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer({}) as started:
        yield started


def failure_of(start_pod: StartPod, folder: Path, workflow: Any, given: dict[str, Any], **variables: str) -> Any:
    """The error of the execution, which has ended in its first pod."""

    def start(command: list[str], own: Mapping[str, str]) -> tuple[int, str]:
        return start_pod(command, {**own, **variables})

    walk = Walk(folder=folder / "store", start_pod=start)
    specs: OrderedDict[Any, Any] = OrderedDict()
    get_serializable(specs, PLACE, workflow)
    for spec in specs.values():
        if isinstance(spec, TaskSpec):
            template = spec.to_flyte_idl().template
            walk.tasks[template.id.name] = template
        if isinstance(spec, WorkflowSpec):
            walk.workflows[spec.template.id.name] = spec.to_flyte_idl()
    inputs = {name: default for name, (_, default) in workflow.python_interface.inputs_with_defaults.items()}
    literals = translate_inputs_to_literals(
        FlyteContextManager.current_context(),
        {**inputs, **given},
        workflow.interface.inputs,
        workflow.python_interface.inputs,
    )
    with pytest.raises(NodeFailedError) as failed:
        walk.run_workflow(workflow.name, dict(LiteralMap(literals=literals).to_flyte_idl().literals))
    tries = len(walk.pods)
    assert len(set(walk.order)) == 1, walk.order
    assert tries == (2 if failed.value.is_recoverable else 1)
    return failed.value


def request_of(folder: Path, server: ModelServer | None = None) -> dict[str, Any]:
    table = job.write_table(folder / "table.csv", rows=3)
    model = {"api_base": server.url} if server else {}
    return {
        "prompt": "count",
        "model": "openai/any",
        "samples": {"table": FlyteFile(str(table))},
        "outputs": job.OUTPUTS,
        **model,
    }


def test_all_that_is_missing_is_told_at_once_and_not_tried_again(start_pod: StartPod, tmp_path: Path) -> None:
    given = {**request_of(tmp_path), "save_to": "s4://bucket/x", "register": True, "sandbox": "container"}
    error = failure_of(start_pod, tmp_path, generate, given, **WITHOUT_PROGRAMS)
    assert not error.is_recoverable
    message = str(error).partition("Message:")[2]
    assert "NotReadyError: 4 things are not ready, and nothing was spent" in message
    assert "1. MissingKeyError: model 'openai/any' needs a key, and OPENAI_API_KEY is not set" in message
    assert "2. SandboxUnavailableError: neither podman nor docker" in message
    assert "3. RequestError: save_to: s4://bucket/x cannot be written" in message
    assert "4. RemoteError: no Flyte control plane is configured" in message


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"model": "replay:gone.jsonl"}, "SettingsError: model 'replay:gone.jsonl': there is no such file"),
        ({"model": "mistery/large", "api_base": ""}, "UnknownModelError: no provider knows the model 'mistery/large'"),
        ({"save_to": "my/folder"}, "RequestError: save_to: 'my/folder' would be a folder in a pod"),
    ],
)
def test_one_thing_that_is_missing_is_told_as_itself(
    start_pod: StartPod, server: ModelServer, tmp_path: Path, wrong: dict[str, Any], message: str
) -> None:
    error = failure_of(start_pod, tmp_path, generate, {**request_of(tmp_path, server), **wrong})
    assert not error.is_recoverable
    assert message in str(error)
    assert not server.calls


def test_a_sandbox_that_does_not_open_is_not_tried_again(
    start_pod: StartPod, server: ModelServer, tmp_path: Path
) -> None:
    error = failure_of(start_pod, tmp_path, generate, request_of(tmp_path, server), **WITHOUT_PROGRAMS)
    assert not error.is_recoverable
    assert "SandboxUnavailableError: " in str(error)
    assert "Untrusted code is not run without isolation" in str(error)
    assert not server.calls


def test_an_index_that_does_not_answer_is_asked_again_by_another_pod(
    start_pod: StartPod, server: ModelServer, tmp_path: Path
) -> None:
    index = {"UV_DEFAULT_INDEX": f"{UNREACHABLE}/simple"}
    error = failure_of(start_pod, tmp_path, generate, request_of(tmp_path, server), **index)
    assert error.is_recoverable
    assert "IndexUnavailableError: resolving the packages failed" in str(error)
    assert not server.calls


def test_a_control_plane_that_does_not_answer_is_asked_again_by_another_pod(
    start_pod: StartPod, server: ModelServer, tmp_path: Path
) -> None:
    given = {**request_of(tmp_path, server), "register": True}
    place = {"FLYTE_PLATFORM_URL": "127.0.0.1:9", "FLYTE_PLATFORM_INSECURE": "true"}
    error = failure_of(start_pod, tmp_path, generate, given, **place)
    assert error.is_recoverable
    assert "127.0.0.1:9 cannot be reached" in str(error)


def test_sampling_ends_before_it_asks_where_its_samples_could_not_be_judged(
    start_pod: StartPod, server: ModelServer, tmp_path: Path
) -> None:
    given = {"problems": "humaneval", "model": "openai/any", "api_base": server.url, "sandbox": "container"}
    error = failure_of(start_pod, tmp_path, generate_and_evaluate, given, **WITHOUT_PROGRAMS)
    assert not error.is_recoverable
    assert "SandboxUnavailableError" in str(error)
    keyless = {**given, "api_base": "", "sandbox": "auto"}
    error = failure_of(start_pod, tmp_path / "keyless", generate_and_evaluate, keyless)
    assert "MissingKeyError: model 'openai/any' needs a key" in str(error)
    assert not server.calls


def test_an_evaluation_ends_in_its_first_pod_where_its_folder_could_not_be_written(
    start_pod: StartPod, tmp_path: Path
) -> None:
    samples = tmp_path / "samples.jsonl"
    samples.write_text('{"task_id": "HumanEval/53", "completion": "    return x + y\\n"}\n')
    given = {"problems": "humaneval", "samples": FlyteFile(str(samples)), "save_to": "folder"}
    error = failure_of(start_pod, tmp_path, evaluate, given)
    assert "save_to: 'folder' would be a folder in a pod" in str(error)


# --- in local execution ---


def test_a_local_run_needs_no_index(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{UNREACHABLE}/simple")
    check_before_spending(Settings(model="openai/any", api_base=server.url))


def test_a_local_run_is_told_of_all_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotReadyError) as caught:
        check_before_spending(Settings(model="openai/any", sandbox="container"))
    assert [type(error) for error in caught.value.errors] == [MissingKeyError, SandboxUnavailableError]


def test_a_folder_that_will_be_made_can_be_written_and_one_below_a_file_cannot(tmp_path: Path) -> None:
    check_destination(str(tmp_path / "new" / "folder"))
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(RequestError, match=r"save_to: .*file/folder cannot be written: Not a directory"):
        check_destination(str(tmp_path / "file" / "folder"))


def test_the_write_test_leaves_nothing_at_an_address(tmp_path: Path) -> None:
    check_destination(f"file://{tmp_path}/solution")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
