"""Several candidates through `pyflyte run`: the same way as `generate()` goes, each drafted and judged by map tasks."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import row_count_job as job
from flytekit.configuration import Image, ImageConfig, SerializationSettings
from flytekit.core.context_manager import ExecutionState, FlyteContextManager
from flytekit.models.core.workflow import Node
from judged import attempt, judged
from model_server import ModelServer

from flyteplugins_codegen import AutoCoderAgent
from flyteplugins_codegen.flyte import loop
from flyteplugins_codegen.flyte.state import RunState
from flyteplugins_codegen.models.job import Request
from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.models.settings import Settings

ROOT = Path(__file__).parents[2]
# Passed by every script that counts something.
WEAK: dict[str, Any] = {"test_code": job.TESTS["test_code"].replace('== "2"', "in set('123')")}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return job.write_table(tmp_path / "table.csv", rows=3)


def run(pyflyte: Any, server: ModelServer, prompt: str, table: Path, *more: str) -> dict[str, Any]:
    """The result that a run leaves, as JSON."""
    done = pyflyte.run(
        *("run", str(ROOT / "workflows" / "generate.py"), "generate", "--allow_failure", "--save_to", "kept"),
        *("--prompt", prompt, "--model", "openai/any", "--api_base", server.url),
        *("--samples", json.dumps({"table": str(table)}), "--outputs", json.dumps(job.OUTPUTS), *more),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, Any] = json.loads((table.parent / "kept" / "result.json").read_text())
    return result


def asked(server: ModelServer) -> dict[str, int]:
    return dict(Counter(call.name for call in server.calls))


def test_candidates_that_differ_end_a_run_as_they_end_generate(pyflyte: Any, table: Path) -> None:
    script = {"SolutionReply": [job.solution(lines) for lines in (0, 1, 2)], "TestsReply": [WEAK]}
    with ModelServer(script) as server:
        result = run(pyflyte, server, "differ", table, "--candidates", "3")
        assert asked(server) == {"SolutionReply": 3, "TestsReply": 1}
        again = run(pyflyte, server, "differ", table, "--candidates", "3")
        assert asked(server) == {"SolutionReply": 3, "TestsReply": 1}
        server.rewind()
        agent = AutoCoderAgent(model="openai/any", api_base=server.url, candidates=3, cache="disable")
        alone = agent.generate("differ", samples={"table": table}, outputs=job.OUTPUTS)
    assert not result["success"]
    assert result["error"] == again["error"]
    # Who was answered first has the first script: only whose is whose may be another.
    for text in ("3 candidates pass every check", "table=table.csv", *(f"row_count = {n}" for n in (2, 3, 4))):
        assert text in result["error"]
        assert text in alone.error
    assert result["confidence"] == pytest.approx(alone.confidence)
    assert [attempt["round_number"] for attempt in result["attempt_history"]] == [1, 1, 1]
    assert len(result["calls"]) == len(alone.calls) == 4


def test_fresh_candidates_are_asked_for_at_once_and_found_again_by_the_next_run(pyflyte: Any, table: Path) -> None:
    script = {
        "SolutionReply": [job.solution(lines) for lines in (0, 1, 4, 1)],
        "TestsReply": [job.TESTS],
        "RepairReply": [job.repair(0, 2), job.repair(2, 3)],
    }
    with ModelServer(script) as server:
        result = run(pyflyte, server, "fresh", table)
        assert asked(server) == {"SolutionReply": 4, "TestsReply": 1, "RepairReply": 2}
        again = run(pyflyte, server, "fresh", table)
        assert asked(server) == {"SolutionReply": 4, "TestsReply": 1, "RepairReply": 2}
    assert result["success"], result["error"]
    assert [attempt["round_number"] for attempt in result["attempt_history"]] == [1, 2, 3, 4, 4, 4]
    assert 0 < result["confidence"] < 1
    assert again["attempt_history"] == result["attempt_history"]


def nodes_on_a_cluster(step: Any, *attempts: Attempt, **more: Any) -> dict[str, Node]:
    """What a step of a run is made of where each task is a pod; flytekit compiles each step once in a process."""
    settings = SerializationSettings(
        project="p", domain="d", version="1", image_config=ImageConfig(Image("default", "runner", "1"))
    )
    context = FlyteContextManager.current_context().with_serialization_settings(settings).build()
    on_cluster = context.execution_state.with_params(mode=ExecutionState.Mode.TASK_EXECUTION)
    run = Run(settings=Settings(model="openai/m"), request=Request(prompt="p"), attempts=attempts)
    with FlyteContextManager.with_context(context.with_execution_state(on_cluster)) as compiling:
        given = {"state": RunState(run=run), "samples": {}, "conversation": [], **more}
        spec = step.compile_into_workflow(compiling, step._task_function, **given)
    return {re.sub(r".*\.|_[0-9a-f]{32}-arraynode", "", node.metadata.name): node for node in spec.nodes}


def test_on_a_cluster_fresh_candidates_are_drafted_by_one_map_task() -> None:
    repairs = [judged(number, number, (), action="repair", parent=number - 1, round_number=number) for number in (2, 3)]
    nodes = nodes_on_a_cluster(loop.run_tests_and_advance, judged(1, 1, ()), *repairs)
    assert nodes.keys() == {"map_draft_anew", "advance_with_fresh"}
    assert nodes["map_draft_anew"].to_flyte_idl().array_node.parallelism == 4


def test_on_a_cluster_candidates_are_built_by_one_map_task_and_run_by_another() -> None:
    drafts = [attempt(number, None, environment=None) for number in (1, 2, 3)]
    nodes = nodes_on_a_cluster(loop.advance_with_judged, *drafts, judged=[])
    assert nodes.keys() == {"map_build_environment", "map_run_tests", "advance_with_judged"}
