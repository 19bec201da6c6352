"""What `pyflyte run --remote` refuses on the machine where it is typed: nothing is registered or launched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import row_count_job as job
from flyte_admin import FlyteAdmin
from pod_forker import forked_pods
from propeller import StartPod

ROOT = Path(__file__).parents[2]
RUNNER = ("--image", "registry.example/team/runner:1")


class Client:
    """A machine with `pyflyte`, and the control plane that its configuration names."""

    def __init__(self, admin: FlyteAdmin, folder: Path, start: StartPod) -> None:
        self.admin = admin
        self.folder = folder
        self._config = admin.write_config(folder)
        self._start = start

    def run_remote(self, script: str, entity: str, **options: Any) -> tuple[int, str]:
        """The status and what was printed."""
        texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}
        typed = [f"--{name}={text}" for name, text in texts.items()]
        module = str(ROOT / "workflows" / f"{script}.py")
        command = ("pyflyte", "--config", str(self._config), "run", "--remote", *RUNNER)
        return self._start([*command, module, entity, *typed], {})

    def refusal(self, script: str, entity: str, **options: Any) -> list[str]:
        """The lines that are printed where a command is refused."""
        status, said = self.run_remote(script, entity, **options)
        assert status, said
        assert [*self.admin.tasks, *self.admin.workflows, *self.admin.executions] == []
        said = said.partition("Running Execution on Remote.")[2]
        return [line.rstrip() for line in said.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def start_command() -> Iterator[StartPod]:
    with forked_pods(COLUMNS="1000", PYTHONWARNINGS="ignore") as start:
        yield start


@pytest.fixture
def client(tmp_path: Path, start_command: StartPod) -> Iterator[Client]:
    with FlyteAdmin() as admin:
        yield Client(admin, tmp_path, start_command)


def request_in(folder: Path) -> dict[str, Any]:
    table = job.write_table(folder / "table.csv", rows=3)
    return {"prompt": "count", "model": "openai/any", "samples": {"table": str(table)}, "outputs": job.OUTPUTS}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"prompt": " "}, "RequestError: the prompt is empty; describe the job in words"),
        ({"model": "nothing"}, "UnknownModelError: no provider knows the model 'nothing'."),
        ({"max_iterations": 99}, "SettingsError: max_iterations=99: "),
        ({"outputs": {"n": "number"}}, "InterfaceError: output 'n'"),
        ({"examples": [{"outputs": {"m": 1}}]}, "InterfaceError: example 1 names the undeclared output 'm'"),
        ({"inputs": {"n": 5, "rate": ["float", "x"]}}, "InterfaceError: input 'rate': 'x' is no float"),
        ({"tests": "def test("}, "RequestError: tests: "),
        ({"api_base": "example.org"}, "SettingsError: api_base='example.org' is no address"),
        ({"save_to": "my/folder"}, "RequestError: save_to: 'my/folder' would be a folder in a pod"),
    ],
)
def test_an_option_that_is_not_possible_is_told_in_one_line(
    client: Client, wrong: dict[str, Any], message: str
) -> None:
    (line,) = client.refusal("generate", "generate", **{**request_in(client.folder), **wrong})
    assert line.startswith(message)


def test_a_key_in_place_of_its_name_is_refused_and_not_shown_whatever_the_provider(client: Client) -> None:
    request = {**request_in(client.folder), "api_key": "sk-1234", "model": "unknown/any"}
    (line,) = client.refusal("generate", "generate", **request)
    assert line.startswith("SettingsError: api_key is the NAME of an environment variable or secret")
    assert "sk-1234" not in line


def test_several_options_that_are_not_possible_are_told_together(client: Client) -> None:
    lines = client.refusal("generate", "generate", **request_in(client.folder) | {"model": "x", "save_to": "folder"})
    assert lines[0] == "NotReadyError: 2 things are not ready, and nothing was spent:"
    assert [line[:22] for line in lines[1:]] == ["1. UnknownModelError: ", "2. RequestError: save_"]


def test_a_sample_that_is_not_there_is_told_by_its_option(client: Client) -> None:
    request = request_in(client.folder) | {"samples": {"table": "gone.csv"}}
    status, said = client.run_remote("generate", "generate", **request)
    assert status
    assert "Invalid value for '--samples'" in said
    assert "gone.csv because it's not a file" in said
    assert not client.admin.tasks


def test_the_agent_of_generate_with_is_checked(client: Client) -> None:
    request = {name: value for name, value in request_in(client.folder).items() if name != "model"}
    (line,) = client.refusal("generate", "generate_with", agent={"model": "nothing"}, **request)
    assert line.startswith("UnknownModelError: no provider knows the model 'nothing'.")


@pytest.mark.parametrize(
    ("script", "entity", "options", "message"),
    [
        ("evaluate", "generate_and_evaluate", {"problems": "humaneval", "model": "openai/any", "n": 0}, "n=0"),
        ("evaluate", "generate_and_evaluate", {"problems": "humaneval", "model": "nothing"}, "no provider knows"),
        ("evaluate", "evaluate", {"problems": "humaneval", "samples": "{samples}", "k": [0]}, "k=0"),
        ("refresh", "refresh", {"solution": "s", "data": {}, "allowed_difference": 2}, "allowed_difference=2"),
        ("refresh", "refresh", {"solution": "./folder", "data": {}}, "solution: './folder' would be a folder in a pod"),
        ("implement", "implement_task", {"definition": "no function"}, "definition"),
    ],
)
def test_other_workflows_refuse_what_is_not_possible(
    client: Client, script: str, entity: str, options: dict[str, Any], message: str
) -> None:
    samples = client.folder / "samples.jsonl"
    samples.write_text('{"task_id": "HumanEval/53", "completion": "    return x + y\\n"}\n')
    given = {name: str(samples) if value == "{samples}" else value for name, value in options.items()}
    (line, *_) = client.refusal(script, entity, **given)
    assert message in line


def test_what_only_the_cluster_knows_is_launched(client: Client) -> None:
    """A key, a recording and a provider of the image's cannot be seen from here."""
    request = request_in(client.folder)
    status, said = client.run_remote("generate", "generate", **request | {"model": "replay:/recordings/of/image.jsonl"})
    assert status == 0, said
    assert len(client.admin.executions) == 1
    status, said = client.run_remote("generate", "generate", **request | {"model": "own/any"})
    assert status == 0, said
    assert len(client.admin.executions) == 2
