"""What `pyflyte package` and `pyflyte register` make of the workflows and of a saved solution, offline."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import row_count_job as job
from flyteidl.admin.task_pb2 import TaskSpec
from model_server import ModelServer
from propeller import container_of

from flyteplugins_codegen import AutoCoderAgent

ROOT = Path(__file__).parents[2]
MODEL_TASKS = {
    *("infer_schemas", "write_solution", "write_tests", "write_another", "repair", "draft_anew", "strengthen_tests"),
    *("work_as_agent", "implement_task", "sample_chunk"),
    # First tasks of a run, which check that the key is there:
    *("configure_and_take_stages", "take_stages", "plan_sampling"),
}


def packaged(archive: Path) -> dict[str, bytes]:
    """The serialized entities by name: `0_module.name_1.pb` is task `module.name`."""
    with tarfile.open(archive) as tar:
        members = {member.name: tar.extractfile(member) for member in tar.getmembers() if member.isfile()}
        return {name.partition("_")[2].removesuffix(".pb"): file.read() for name, file in members.items() if file}


def test_the_workflows_package_and_only_tasks_that_talk_to_a_model_ask_for_the_secret(
    pyflyte: Any, tmp_path: Path
) -> None:
    archive = tmp_path / "package.tgz"
    names = ("generate", "example_pipeline", "implement", "evaluate")
    modules = [word for name in names for word in ("--pkgs", f"workflows.{name}")]
    pyflyte.environment["FLYTE_CODEGEN_SECRET"] = "providers/OPENAI_API_KEY"
    done = pyflyte.run(*modules, "package", "--image", "runner:1", "--output", str(archive), cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr

    entities = packaged(archive)
    tasks = {name: TaskSpec.FromString(data).template for name, data in entities.items() if name.endswith("_1")}
    of_ours = {name.rpartition(".")[2].removesuffix("_1"): made for name, made in tasks.items() if ".flyte." in name}
    assert {name for name, made in of_ours.items() if made.security_context.secrets} == MODEL_TASKS
    secret = of_ours["repair"].security_context.secrets[0]
    assert (secret.group, secret.key, secret.env_var) == ("providers", "OPENAI_API_KEY", "OPENAI_API_KEY")
    assert not {name for name in ("prepare", "finish") if of_ours[name].metadata.discoverable}
    assert of_ours["run_tests"].metadata.discoverable
    assert of_ours["implement_task"].metadata.discoverable
    for name in ("run_tests", "judge_part", "sample_chunk", "implement_task"):
        assert container_of(of_ours[name]).resources["limits"], name
        assert of_ours[name].metadata.retries.retries, name
    assert "Pickle" not in "".join(str(made.interface) for made in tasks.values())


def test_a_saved_solution_registers_as_it_is(pyflyte: Any, tmp_path: Path) -> None:
    table = job.write_table(tmp_path / "table.csv", rows=3)
    with ModelServer({"SolutionReply": [job.solution()], "TestsReply": [job.TESTS]}) as server:
        agent = AutoCoderAgent(model="openai/any", api_base=server.url, name="row-counter")
        result = agent.generate("count, to register", samples={"table": table}, outputs=job.OUTPUTS)
    folder = result.save(tmp_path / "solution")
    registered = pyflyte.run("register", "--dry-run", "--copy", "none", "--version", "1", "task.py", cwd=folder)
    assert registered.returncode == 0, registered.stdout + registered.stderr
    assert "Task: row-counter" in registered.stdout
