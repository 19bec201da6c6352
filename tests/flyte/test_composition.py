"""The agent and its results inside a user's own tasks and workflows, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import row_count_job as job
from flytekit import dynamic, task, workflow
from flytekit.types.file import FlyteFile
from model_server import ModelServer

from flyteplugins_codegen import AutoCoderAgent, CodeGenEvalResult
from flyteplugins_codegen.flyte.workflow import generate_with

ROOT = Path(__file__).parents[2]
SCRIPT = {"SolutionReply": [job.solution()], "TestsReply": [job.TESTS]}


@task
def write_counter(agent: AutoCoderAgent, table: FlyteFile) -> CodeGenEvalResult:
    return agent.generate("count inside a task", samples={"table": table}, outputs=job.OUTPUTS)


@task
def count_here(result: CodeGenEvalResult, table: FlyteFile) -> int:
    (count,) = result.run(table=table)
    return count


@dynamic
def count_as_a_task(result: CodeGenEvalResult, table: FlyteFile) -> int:
    return result.as_task("count_rows")(table=table)


@workflow
def write_then_count(agent: AutoCoderAgent, sample: FlyteFile, table: FlyteFile) -> tuple[int, int]:
    result = write_counter(agent=agent, table=sample)
    return count_here(result=result, table=table), count_as_a_task(result=result, table=table)


@workflow
def generate_then_count(agent: AutoCoderAgent, sample: FlyteFile, table: FlyteFile) -> int:
    generated = generate_with(
        agent=agent, prompt="count in a workflow", samples={"table": sample}, outputs={"row_count": "int"}
    )
    return count_here(result=generated.result, table=table)


def files(folder: Path) -> dict[str, Any]:
    return {
        "sample": FlyteFile(str(job.write_table(folder / "sample.csv", rows=2))),
        "table": FlyteFile(str(job.write_table(folder / "table.csv", rows=9))),
    }


def test_an_agent_generates_inside_a_task_and_its_result_runs_in_others(tmp_path: Path) -> None:
    with ModelServer(SCRIPT) as server:
        agent = AutoCoderAgent(model="openai/any", api_base=server.url)
        assert tuple(write_then_count(agent=agent, **files(tmp_path))) == (9, 9)


def test_the_workflow_composes_into_another(tmp_path: Path) -> None:
    with ModelServer(SCRIPT) as server:
        agent = AutoCoderAgent(model="openai/any", api_base=server.url)
        assert generate_then_count(agent=agent, **files(tmp_path)) == 9


def test_the_worked_example_runs_on_its_recording(pyflyte: Any) -> None:
    done = pyflyte.run("run", "workflows/example_pipeline.py", "compare_weather", cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("362 rainy days")


THEIR_FILE = """
from flytekit import dynamic, eager, task, workflow
from flytekit.types.file import FlyteFile

from flyteplugins_codegen import AutoCoderAgent

AGENT = AutoCoderAgent(model="openai/any", api_base={address!r})


@task
def in_a_task(table: FlyteFile) -> int:
    result = AGENT.generate("in a task", samples={{"table": table}}, outputs={{"row_count": int}})
    return result.run()[0]


@dynamic
def in_a_dynamic(table: FlyteFile) -> int:
    result = AGENT.generate("in a dynamic", samples={{"table": table}}, outputs={{"row_count": int}})
    return result.as_task("count_rows")()


@task
def add(one: int, other: int) -> int:
    return one + other


@workflow
def both(table: FlyteFile) -> int:
    return add(one=in_a_task(table=table), other=in_a_dynamic(table=table))


@eager
async def in_an_eager(table: FlyteFile) -> int:
    awaited = await AGENT.generate.aio("in an eager", samples={{"table": table}}, outputs={{"row_count": int}})
    called = AGENT.generate("in an eager, without await", samples={{"table": table}}, outputs={{"row_count": int}})
    return add(one=awaited.run()[0], other=called.run()[0])
"""


@pytest.mark.parametrize("entity", ["both", "in_an_eager"])
def test_an_agent_generates_inside_tasks_dynamics_and_eagers_of_a_user_s_file(
    pyflyte: Any, tmp_path: Path, entity: str
) -> None:
    table = job.write_table(tmp_path / "table.csv", rows=3)
    script = {"SolutionReply": [job.solution()] * 2, "TestsReply": [job.TESTS] * 2}
    with ModelServer(script) as server:
        (tmp_path / "theirs.py").write_text(THEIR_FILE.format(address=server.url))
        done = pyflyte.run("run", "theirs.py", entity, "--table", str(table))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "6"
