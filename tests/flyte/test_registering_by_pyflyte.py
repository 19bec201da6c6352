"""The workflows and a saved solution in a control plane, by the real `pyflyte` over its real wire."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import row_count_job as job
from flyte_admin import FlyteAdmin
from flyteidl.admin import launch_plan_pb2, task_pb2, workflow_pb2
from flyteidl.core import identifier_pb2
from flyteidl.service import admin_pb2_grpc
from model_server import ModelServer
from propeller import container_of

from flyteplugins_codegen import AutoCoderAgent, ImageConfig

ROOT = Path(__file__).parents[2]
RUNNER = ("--image", "registry.example/team/runner:1")


@pytest.fixture
def admin(pyflyte: Any) -> Iterator[FlyteAdmin]:
    with FlyteAdmin() as started:
        started.write_config(Path(pyflyte.environment["HOME"]))
        yield started


def names(entities: list[Any]) -> set[str]:
    return {entity.id.name.rpartition(".")[2] for entity in entities}


def filled(message: Any) -> Any:
    """The message with a place and a version in every id that has none, as whoever registers a package puts there."""
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        if field.message_type.GetOptions().map_entry:
            parts = list(value.values()) if field.message_type.fields_by_name["value"].message_type else []
        else:
            parts = list(value) if field.is_repeated else [value]
        for part in parts:
            filled(part)
    if isinstance(message, identifier_pb2.Identifier):
        message.MergeFrom(identifier_pb2.Identifier(project="flytesnacks", domain="development", version="v1"))
    return message


def register_package(archive: Path, stub: Any) -> None:
    """What `flytectl register files` does with a package."""
    with tarfile.open(archive) as tar:
        members = {member.name: tar.extractfile(member) for member in tar.getmembers() if member.isfile()}
        files = {name: file.read() for name, file in members.items() if file}
    for name in sorted(files, key=lambda name: int(name.partition("_")[0])):
        kind = name.removesuffix(".pb")[-1]
        if kind == "1":
            spec = filled(task_pb2.TaskSpec.FromString(files[name]))
            stub.CreateTask(task_pb2.TaskCreateRequest(id=spec.template.id, spec=spec))
        if kind == "2":
            spec = filled(workflow_pb2.WorkflowSpec.FromString(files[name]))
            stub.CreateWorkflow(workflow_pb2.WorkflowCreateRequest(id=spec.template.id, spec=spec))
        if kind == "3":
            plan = filled(launch_plan_pb2.LaunchPlan.FromString(files[name]))
            stub.CreateLaunchPlan(launch_plan_pb2.LaunchPlanCreateRequest(id=plan.id, spec=plan.spec))


def starts(admin: FlyteAdmin) -> set[str]:
    """The programs by which pods start their tasks."""
    return {container_of(task.closure.compiled_task.template).args[0] for task in admin.tasks}


def test_all_workflows_whose_tasks_are_in_the_image_are_registered_without_copying_code(
    pyflyte: Any, admin: FlyteAdmin
) -> None:
    files = [
        f"workflows/{name}.py" for name in ("generate", "evaluate", "implement", "profile", "refresh", "schedules")
    ]
    done = pyflyte.run("register", *RUNNER, "--copy", "none", "--version", "v1", *files, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    of_one_task = {"build_image", "finish", "prepare", "register_solution", "implement", "repair", "work_as_agent"}
    of_one_task |= {"profile_sample", "profile_folder", "extract_data_context", "draft_anew", "strengthen_tests"}
    assert names(admin.workflows) == {
        *("generate", "generate_with", "evaluate", "generate_and_evaluate", "refresh"),
        *of_one_task,
    }
    scheduled = {"refresh-rainy-days", "refresh-rainy-days-hourly", "refresh-rainy-days-nightly"}
    assert names(admin.launch_plans) == names(admin.workflows) | scheduled
    assert of_one_task - {"implement"} | {"implement_task", "judge_part"} <= names(admin.tasks)
    assert "pyflyte-fast-execute" not in starts(admin)


def test_a_workflow_with_tasks_of_its_own_is_registered_as_pyflyte_does_it_by_default(
    pyflyte: Any, admin: FlyteAdmin
) -> None:
    done = pyflyte.run("register", *RUNNER, "--version", "v1", "workflows/example_pipeline.py", cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "compare_weather" in names(admin.workflows)
    assert "pyflyte-execute" not in starts(admin)


def test_a_package_can_be_registered(pyflyte: Any, admin: FlyteAdmin, tmp_path: Path) -> None:
    archive = tmp_path / "package.tgz"
    done = pyflyte.run("--pkgs", "workflows.generate", "package", *RUNNER, "--output", str(archive), cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    with grpc.insecure_channel(admin.endpoint) as channel:
        register_package(archive, admin_pb2_grpc.AdminServiceStub(channel))
    assert {"generate", "generate_with"} <= names(admin.workflows)


def test_a_task_is_started_with_the_file_that_was_typed(pyflyte: Any, admin: FlyteAdmin, tmp_path: Path) -> None:
    table = job.write_table(tmp_path / "table.csv", rows=3)
    module = str(ROOT / "workflows" / "profile.py")
    done = pyflyte.run("run", "--remote", *RUNNER, module, "profile_sample", "--sample", str(table))
    assert done.returncode == 0, done.stdout + done.stderr
    (execution,) = admin.executions
    assert f"/console/projects/flytesnacks/domains/development/executions/{execution.id.name}" in done.stdout
    inputs = admin.inputs(execution.id.name)
    assert admin.objects[inputs["sample"].scalar.blob.uri] == table.read_bytes()


def test_a_saved_solution_is_registered_as_it_is(pyflyte: Any, admin: FlyteAdmin, tmp_path: Path) -> None:
    table = job.write_table(tmp_path / "table.csv", rows=3)
    with ModelServer({"SolutionReply": [job.solution()], "TestsReply": [job.TESTS]}) as server:
        agent = AutoCoderAgent(
            model="openai/any",
            api_base=server.url,
            name="row-counter",
            image_config=ImageConfig(registry="registry.example/team", builder="none"),
        )
        result = agent.generate("count by pyflyte", samples={"table": table}, outputs=job.OUTPUTS)
    folder = result.save(tmp_path / "solution")
    done = pyflyte.run("register", "--copy", "none", "--version", "v1", "task.py", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    (task,) = admin.tasks
    template = task.closure.compiled_task.template
    assert (task.id.name, template.type) == ("row-counter", "raw-container")
    assert result.image in str(template.k8s_pod.pod_spec)
