"""What registration decides is in every task's template, and so in the templates of what dynamics add in their pods."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from flyteidl.core.tasks_pb2 import TaskTemplate
from google.protobuf.json_format import MessageToDict, MessageToJson
from kubernetes.client import ApiClient, V1PodSpec, V1PodTemplate
from propeller import container_of, own_variables, read_tasks, short_name

from flyteplugins_codegen.errors import SettingsError
from flyteplugins_codegen.flyte.pods import SANDBOX_SECURITY
from flyteplugins_codegen.flyte.task_environment import _warn_of_local, task_environment

ROOT = Path(__file__).parents[2]
WORKFLOWS = ("generate", "evaluate", "implement", "refresh", "profile")
FIRST_OF_A_RUN = {"prepare", "take_stages", "examine_data", "split_evaluation", "plan_sampling"}
RUN_CANDIDATES = {
    *("run_tests", "run_tests_and_advance", "work_as_agent", "measure_strength", "measure_part", "renew_solution"),
    *("judge_part", "gather_evaluation", "sample_chunk", "implement_task"),
}
ASK_OR_PLAN = {
    *("extract_context", "infer_schemas", "write_solution", "write_tests", "build_environment", "repair", "draft_anew"),
    *("strengthen_tests", "finish", "register_solution", "judge_parts", "sample_chunks", "join_samples", "settle"),
}
REGISTERED = {
    "FLYTE_CODEGEN_SECRET": "openai/OPENAI_API_KEY",
    "FLYTE_CODEGEN_IMAGE": "python:3.12-slim",
    "OPENAI_BASE_URL": "https://models.example/v1",
    "ANTHROPIC_BASE_URL": "https://gateway.example",
    "PIP_INDEX_URL": "https://index.example/simple",
    "UV_EXCLUDE_NEWER": "2026-01-01",
    "BUILDKIT_HOST": "tcp://buildkitd:1234",
    "FLYTE_PLATFORM_URL": "flyte.example:443",
    "FLYTE_PLATFORM_INSECURE": "true",
}
STAYS = {
    "FLYTE_CODEGEN_CACHE": "/srv/own/cache",
    "OPENAI_API_KEY": "sk-of-the-user",
    "UV_INDEX_INNER_PASSWORD": "of-the-user",
    "UV_CONSTRAINT": "/srv/own/constraints.txt",
}
TRAVELS = {
    **{name: value for name, value in REGISTERED.items() if name != "PIP_INDEX_URL"},
    "UV_DEFAULT_INDEX": REGISTERED["PIP_INDEX_URL"],
    "FLYTE_PLATFORM_INSECURE": "True",
}


class Decided(NamedTuple):
    """What of a template registration decides."""

    variables: dict[str, str]
    secrets: list[str]
    pod: dict[str, Any]
    pod_template: str
    resources: dict[str, dict[str, str]]


def decided(template: TaskTemplate) -> Decided:
    return Decided(
        own_variables(template),
        [str(secret) for secret in template.security_context.secrets],
        without_container(template),
        template.metadata.pod_template_name,
        container_of(template).resources,
    )


def without_container(template: TaskTemplate) -> dict[str, Any]:
    """The pod, and the security context of its container."""
    if not template.HasField("k8s_pod"):
        return {}
    spec = MessageToDict(template.k8s_pod.pod_spec)
    return {**spec, "containers": [container["securityContext"] for container in spec["containers"]]}


def package(folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Serialize all tasks in a process that has only these variables and those of an image."""
    (folder / "home").mkdir(parents=True, exist_ok=True)
    modules = [word for name in WORKFLOWS for word in ("--pkgs", f"workflows.{name}")]
    pyflyte = str(Path(sys.executable).with_name("pyflyte"))
    return subprocess.run(
        [pyflyte, *modules, "package", "--image", "runner:1", "--output", str(folder / "package.tgz")],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(folder / "home"), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def packaged(folder: Path, variables: dict[str, str]) -> dict[str, TaskTemplate]:
    """All tasks of the package by their short names."""
    done = package(folder, variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return {short_name(template): template for template in read_tasks(folder / "package.tgz")}


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TaskTemplate]:
    return packaged(tmp_path_factory.mktemp("registered"), {**REGISTERED, **STAYS})


def test_every_task_takes_the_settings_along_and_no_key_and_no_path_of_this_machine(
    registered: dict[str, TaskTemplate],
) -> None:
    assert len(registered) > 30
    assert {name: own_variables(template) for name, template in registered.items()} == dict.fromkeys(
        registered, TRAVELS
    )


def test_a_pod_that_has_what_its_template_gives_makes_the_same_templates_of_all_tasks(
    registered: dict[str, TaskTemplate], tmp_path: Path
) -> None:
    """So a dynamic's nodes have them at any depth."""
    dynamics = [template for template in registered.values() if "_F_SS_C" in container_of(template).env]
    assert len(dynamics) > 3
    given = {"FLYTE_INTERNAL_EXECUTION_ID": "e", "FLYTE_INTERNAL_IMAGE": "runner:1", **own_variables(dynamics[0])}
    in_pod = packaged(tmp_path, given)
    assert {name: decided(template) for name, template in in_pod.items()} == {
        name: decided(template) for name, template in registered.items()
    }
    assert any(template.security_context.secrets for template in in_pod.values())


def test_tasks_that_run_candidates_have_a_pod_in_which_the_sandbox_opens(registered: dict[str, TaskTemplate]) -> None:
    pods = {name: template for name, template in registered.items() if template.HasField("k8s_pod")}
    assert (FIRST_OF_A_RUN | RUN_CANDIDATES) - set(pods) == set()
    assert ASK_OR_PLAN & set(pods) == set()
    assert set(registered) >= ASK_OR_PLAN
    for name, template in pods.items():
        spec = json.loads(MessageToJson(template.k8s_pod.pod_spec), parse_float=lambda text: int(float(text)))
        client = ApiClient()
        read = client.deserialize(json.dumps(spec), V1PodSpec.__name__, "application/json")
        assert client.sanitize_for_serialization(read) == spec, f"{name}: a field that Kubernetes does not know"
        (container,) = spec["containers"]
        assert container["name"] == template.config["primary_container_name"]
        assert container["securityContext"] == dict(SANDBOX_SECURITY)
        assert spec["hostUsers"] is False


def test_pods_that_plan_request_a_quarter_of_a_core_and_may_use_two(registered: dict[str, TaskTemplate]) -> None:
    sizes = {name: container_of(template).resources for name, template in registered.items()}
    light = {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}}
    assert [sizes[name] for name in ("prepare", "write_solution", "finish", "judge_parts")] == [light] * 4
    assert all(size["limits"] == light["limits"] for size in sizes.values())
    assert sizes["run_tests"]["requests"] == light["limits"]


@pytest.mark.parametrize(("chosen", "named"), [("team-sandbox", "team-sandbox"), ("none", "")])
def test_a_template_of_the_cluster_takes_the_place_of_our_pod_or_none_does(
    chosen: str, named: str, registered: dict[str, TaskTemplate], tmp_path: Path
) -> None:
    tasks = packaged(tmp_path, {"FLYTE_CODEGEN_POD_TEMPLATE": chosen})
    assert not [name for name, template in tasks.items() if template.HasField("k8s_pod")]
    assert {name: template.metadata.pod_template_name for name, template in tasks.items()} == {
        name: named if template.HasField("k8s_pod") else "" for name, template in registered.items()
    }
    assert own_variables(tasks["finish"]) == {"FLYTE_CODEGEN_POD_TEMPLATE": chosen}
    in_pod = packaged(tmp_path / "pod", own_variables(tasks["finish"]))
    assert {name: decided(template) for name, template in in_pod.items()} == {
        name: decided(template) for name, template in tasks.items()
    }


def test_a_name_that_no_template_can_have_is_refused(tmp_path: Path) -> None:
    done = package(tmp_path, {"FLYTE_CODEGEN_POD_TEMPLATE": "Team Sandbox", "COLUMNS": "400"})
    assert done.returncode != 0
    assert "FLYTE_CODEGEN_POD_TEMPLATE='Team Sandbox' is no name of a PodTemplate" in done.stdout + done.stderr


def test_a_login_is_not_registered_and_the_error_says_where_it_belongs(tmp_path: Path) -> None:
    done = package(tmp_path, {"PIP_INDEX_URL": "https://user:hunter2@index.example/simple", "COLUMNS": "400"})
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "UV_DEFAULT_INDEX: the address holds a user or a password" in said
    assert "hunter2" not in said


def test_local_execution_looks_at_none_of_it(pyflyte: Any, tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    samples.write_text(json.dumps({"task_id": "HumanEval/53", "completion": "    return x + y\n"}) + "\n")
    pyflyte.environment["BUILDKIT_HOST"] = "tcp://user:hunter2@buildkitd:1234"
    given = ("--problems", "humaneval", "--samples", str(samples), "--k", "[1]")
    done = pyflyte.run("run", str(ROOT / "workflows" / "evaluate.py"), "evaluate", *given)
    assert done.returncode == 0, done.stderr
    assert "1 passed" in done.stderr


def test_a_login_that_the_cluster_gave_to_a_pod_is_left_to_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLYTE_PLATFORM_URL", raising=False)
    index = {"UV_INDEX": "inner=https://user:hunter2@index.example/simple", "UV_RESOLUTION": "lowest"}
    with pytest.raises(SettingsError, match=r"UV_INDEX: .* a password"):
        task_environment(index)
    assert task_environment({**index, "FLYTE_INTERNAL_EXECUTION_ID": "e"}) == {"UV_RESOLUTION": "lowest"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("UV_FIND_LINKS", "/opt/wheels"),
        ("UV_FIND_LINKS", "https://wheels.example ./wheels"),
        ("UV_INDEX", "my-own=file:///srv/index"),
        ("UV_CONFIG_FILE", "uv.toml"),
        ("BUILDKIT_HOST", "unix:///run/buildkit/buildkitd.sock"),
    ],
)
def test_a_path_of_this_machine_stays_there_with_a_warning(
    name: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    _warn_of_local.cache_clear()
    assert name not in task_environment({name: value})
    assert f"{name}: a path of this machine" in caplog.text


def test_the_pod_template_in_the_documents_is_our_own_pod() -> None:
    """Flyte merges the container `primary` of a PodTemplate into the task's."""
    written = yaml.safe_load((ROOT / "docs/deploy/pod-template-sandbox.yaml").read_text())
    client = ApiClient()
    read = client.deserialize(json.dumps(written), V1PodTemplate.__name__, "application/json")
    assert client.sanitize_for_serialization(read) == written
    spec = written["template"]["spec"]
    assert spec["hostUsers"] is False
    (container,) = spec["containers"]
    assert container["name"] == "primary"
    assert container["securityContext"] == dict(SANDBOX_SECURITY)
